/* Requests to the whole interface: the bytes go down a Unix socket to the API in this process, with a real store. */
#include "tests/fuzz/fuzz.h"

#include "api/api.h"
#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "daemon/adapters.h"
#include "daemon/rundir/rundir.h"
#include "daemon/store/internal.h"
#include "daemon/store/training.h"
#include "scheduler-adapters/registry.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define TURNS_MAX 2000 /* without a byte: then the client has had enough */
#define ANSWER_MAX (1u << 20)

/* There are no adapters, so that no request starts a process. */
const struct adapter_ops *const adapter_registry[] = {NULL};

static char dir[] = "/tmp/st-fuzz.XXXXXX";
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static uv_loop_t loop;
static uv_idle_t alive;
static struct api *api;

static int64_t now_ms(void *arg)
{
    return time_now_ms();
}

static void wake_in(void *arg, int64_t ms)
{
}

static void random_bytes(void *arg, void *out, size_t size)
{
    randombytes_buf(out, size);
}

static void on_idle(uv_idle_t *handle)
{
}

static void rolled_back(void *arg)
{
}

static void clean(void)
{
    char rm[64];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    if (system(rm) != 0)
        fprintf(stderr, "%s is left\n", dir);
}

/* Something to be found: an ensemble of 1000 members, of which one has a row and a training. */
static void fill(struct store *store, const char *run_dir)
{
    struct ensemble_row ensemble = {.name = "x", .state = ENSEMBLE_RUNNING, .adapter = "local", .count = 1000,
                                    .width = 10, .next_index = 1, .created_ms = 1,
                                    .stream_key = "0123456789abcdef"};
    struct member_row member = {.ensemble = 1, .state = MEMBER_FAILED, .attempts = 1, .reason = "exit status 1"};
    struct training_row training = {.ensemble = 1, .state = TRAINING_DONE, .ranks = 1, .generation = 1};
    struct metric_point point = {.step = 1, .time_ms = 1, .value = 0.5};
    char path[300];
    struct error err;
    FILE *out;

    MUST(store_ensemble_insert(store, &ensemble,
                               "{\"name\": \"x\", \"adapter\": \"local\", \"members\": {\"command\": [\"true\"], "
                               "\"parameters\": {\"grid\": {\"i\": [1, 2]}}}}",
                               &err) == 0);
    MUST(store_member_put(store, &member, &err) == 0);
    MUST(store_training_insert(store, &training, &err) == 0);
    MUST(store_metric_put(store, training.id, "loss", &point, &err) == 0);
    snprintf(path, sizeof path, "mkdir -p '%s/e1/members/0/0/a1'", run_dir);
    MUST(system(path) == 0);
    snprintf(path, sizeof path, "%s/e1/members/0/0/a1/stdout", run_dir);
    out = fopen(path, "w");
    MUST(out != NULL);
    fputs("what it said\n", out);
    fclose(out);
    ensemble.state = ENSEMBLE_COMPLETE;
    ensemble.ended_ms = 2;
    MUST(store_ensemble_update(store, &ensemble, &err) == 0);
    MUST(store_commit(store, &err) == 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static char run_dir[64], rows_dir[64], listen[120], control_path[64];
    static struct config config;
    struct adapters *adapters;
    struct store *store;
    struct turn *turn;
    struct engine *engine;
    struct control *control;
    struct error err;

    MUST(sodium_init() >= 0);
    signal(SIGPIPE, SIG_IGN);
    log_init("fuzz", LOG_LEVEL_NONE);
    MUST(mkdtemp(dir) != NULL);
    atexit(clean);
    snprintf(run_dir, sizeof run_dir, "%s/run", dir);
    snprintf(rows_dir, sizeof rows_dir, "%s/rows", dir);
    MUST(mkdir(rows_dir, 0700) == 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/sock", dir);
    snprintf(listen, sizeof listen, "unix:%s", address.sun_path);
    uv_loop_init(&loop);
    uv_idle_init(&loop, &alive);
    uv_idle_start(&alive, on_idle); /* so that no turn waits */
    MUST(store_open(&store, dir, &err) == 0);
    sqlite3_exec(store->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    fill(store, run_dir);
    turn = turn_create(&loop, store, rolled_back, NULL);
    engine = engine_create(&(struct engine_ports){.wall_ms = now_ms, .steady_ms = now_ms, .wake_in = wake_in, .random = random_bytes,
                                                  .rundir_ops = &rundir_ops, .rundir = &loop, .run_dir = run_dir,
                                                  .rows_dir = rows_dir, .control_path = "", .python = "",
                                                  .python_path = "", .examples_dir = ""},
                           store, turn);
    config_init(&config);
    config.plugin_dir = xstrdup("/nowhere");
    MUST(adapters_create(&adapters, &loop, &config, engine, &err) == 0);
    MUST(engine_load(engine, &err) == 0);
    snprintf(control_path, sizeof control_path, "%s/control", dir);
    MUST(control_open(&control, &loop, control_path, engine, &err) == 0);
    MUST(api_create(&api, &(struct api_config){.loop = &loop, .turn = turn, .store = store, .engine = engine,
                                               .control = control, .latency = loop_latency_create(&loop), .now_ms = now_ms,
                                               .state_dir = dir, .heartbeat_ms = 1000, .adapters = adapters}, &err) == 0);
    MUST(api_listen(api, listen, &err) == 0);
    return 0;
}

/* Every answer begins as HTTP does, and tells no more than one status of those that there are. */
static void judge(const char *answer, size_t size)
{
#define PROBLEM(code, status, title) #status,
    static const char *const statuses[] = {"200", "201", "202", "204", "206", "304", "411", "414", "431", "501", "505",
#include "api/tbl/problems.h"
    };
#undef PROBLEM
    size_t i;

    if (size == 0)
        return;
    if (size < 13 || memcmp(answer, "HTTP/1.", 7) != 0) {
        fwrite(answer, 1, size < 200 ? size : 200, stderr);
        MUST(!"an answer in HTTP");
    }
    if (memcmp(answer + 9, "100", 3) == 0)
        return;
    for (i = 0; i < sizeof statuses / sizeof *statuses && memcmp(answer + 9, statuses[i], 3) != 0; i++)
        ;
    if (i == sizeof statuses / sizeof *statuses) {
        fwrite(answer, 1, size < 2000 ? size : 2000, stderr);
        MUST(!"a status that is documented");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char answer[ANSWER_MAX];
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    size_t sent = 0, got = 0;
    bool ended = false;

    MUST(fd >= 0);
    MUST(connect(fd, (const struct sockaddr *)&address, sizeof address) == 0);
    for (int idle = 0; idle < TURNS_MAX && !ended && got < sizeof answer; idle++) {
        ssize_t n;

        if (sent < size && (n = send(fd, data + sent, size - sent, MSG_NOSIGNAL)) > 0) {
            sent += (size_t)n;
            idle = 0;
        }
        uv_run(&loop, UV_RUN_NOWAIT);
        n = recv(fd, answer + got, sizeof answer - got, 0);
        if (n > 0) {
            got += (size_t)n;
            idle = 0;
        }
        ended = n == 0 || (n < 0 && errno != EAGAIN);
        if (sent == size && idle == 20)
            shutdown(fd, SHUT_WR); /* what is not whole by now never will be */
        if (idle > 40 && got > 0)
            break; /* a stream, or a connection that is kept */
    }
    judge(answer, got);
    close(fd);
    for (int i = 0; i < 4; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    return 0;
}
