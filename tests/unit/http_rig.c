#include "tests/unit/http_rig.h"

#include "api/api.h"
#include "common/xalloc.h"
#include "daemon/turn.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WORKERS 4 /* those of libuv */
#define ROOM (8u << 20)
#define NOW_MS 1000000
#define BEAT_MS 20
#define PATIENCE (test_waited_in_vain ? 50 : 1500) /* beats that something is waited for; a machine that stalls misses beats */

char rig_dir[64];
struct engine rig_engine;
struct rig_options rig_options;

static uv_loop_t loop;
static uv_poll_t client;
static uv_timer_t beat; /* so that no wait is for ever */
static int beats;
static uint16_t port;
static bool over_tcp;
static struct store *reader;
static struct turn *turn;
static struct loop_latency *latency;
static struct api *api;
static struct reply reply;
static json_t *json;
static char *got, value[1024];
static size_t got_size;

/* In place of the control socket's. */
const struct control_counts *control_counts(const struct control *control)
{
    static const struct control_counts counts;

    return &counts;
}

static int64_t clock_ms(void *arg)
{
    return NOW_MS;
}

static void rolled_back(void *arg)
{
}

static void on_beat(uv_timer_t *timer)
{
    beats++;
}

/* --- workers */

static uv_work_t holding[WORKERS];
static uv_sem_t let_go;

static void hold(uv_work_t *work)
{
    uv_sem_wait(&let_go);
}

static void held(uv_work_t *work, int status)
{
}

void rig_hold_workers(void)
{
    uv_sem_init(&let_go, 0);
    for (int i = 0; i < WORKERS; i++)
        uv_queue_work(&loop, &holding[i], hold, held);
}

void rig_let_workers_go(void)
{
    for (int i = 0; i < WORKERS; i++)
        uv_sem_post(&let_go);
}

/* Fails the test where what it waits for does not come. */
static void lose_patience(const char *what)
{
    if (beats < PATIENCE)
        return;
    test_waited_in_vain = true;
    fail_msg("in vain: %s: %s", what, got);
}

static void on_client(uv_poll_t *poll, int status, int events)
{
}

static void read_port(void)
{
    char path[96];
    json_t *list;
    const char *url;

    api_publish(api);
    snprintf(path, sizeof path, "%s/listen.json", rig_dir);
    list = json_load_file(path, 0, NULL);
    url = json_string_value(json_object_get(json_array_get(json_object_get(list, "listeners"), 1), "url"));
    assert_non_null(url);
    assert_int_equal(strncmp(url, "http://127.0.0.1:", 17), 0);
    port = (uint16_t)atoi(url + 17);
    json_decref(list);
}

/* Tells whether the test before has left descriptors open. The first test opens some for good. */
static bool is_left_open(void)
{
    static int opened, open_before;
    int now = test_descriptors();

    if (++opened == 2)
        open_before = now;
    if (opened > 2 && now > open_before)
        print_error("%d descriptors were left open\n", now - open_before);
    return opened > 2 && now > open_before;
}

int rig_open(void **state)
{
    char listen[96];

    over_tcp = false;
    beats = 0;
    snprintf(rig_dir, sizeof rig_dir, "/tmp/stretto-test-XXXXXX");
    if (is_left_open() || open_store(state) != 0 || mkdtemp(rig_dir) == NULL || uv_loop_init(&loop) != 0)
        return -1;
    must(store_commit(store, &err));
    got = xcalloc(1, ROOM);
    uv_loop_configure(&loop, UV_METRICS_IDLE_TIME);
    uv_timer_init(&loop, &beat);
    uv_timer_start(&beat, on_beat, BEAT_MS, BEAT_MS);
    turn = turn_create(&loop, store, rolled_back, NULL);
    turn_be_patient(turn, rig_options.patience_ms);
    if (rig_options.reader)
        must(store_open_reader(&reader, store, &err));
    latency = loop_latency_create(&loop);
    rig_engine = (struct engine){.store = store, .turn = turn, .ports = {.rows_dir = "/nowhere", .run_dir = rig_dir}};
    must(api_create(&api, &(struct api_config){.loop = &loop, .turn = turn, .store = store, .engine = &rig_engine, .latency = latency,
                                               .now_ms = clock_ms, .state_dir = rig_dir, .listeners = 2, .reader = reader,
                                               .heartbeat_ms = 3600000}, &err));
    rig_options = (struct rig_options){0};
    snprintf(listen, sizeof listen, "unix:%s/socket", rig_dir);
    must(api_listen(api, listen, &err));
    must(api_listen(api, "tcp:127.0.0.1:0", &err));
    read_port();
    return 0;
}

int rig_close(void **state)
{
    char rm[96];

    api_destroy(api);
    turn_destroy(turn);
    loop_latency_destroy(latency);
    uv_unref((uv_handle_t *)&beat);
    for (beats = 0; uv_loop_alive(&loop); uv_run(&loop, UV_RUN_ONCE))
        lose_patience("the end of the loop");
    uv_close((uv_handle_t *)&beat, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    json_decref(json);
    json = NULL;
    free(reply.body);
    reply = (struct reply){0};
    free(got);
    store_close(reader);
    reader = NULL;
    snprintf(rm, sizeof rm, "rm -rf '%s'", rig_dir);
    return system(rm) | close_store(state);
}

void rig_turn(void)
{
    uv_run(&loop, UV_RUN_NOWAIT);
}

/* Lets a crash end the program: cmocka would go on with the next test in the middle of the loop, which waits for
 * ever. */
static void let_crashes_end_it(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        signal(crashes[i], SIG_DFL);
}

static int connect_to_it(void)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in remote = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(over_tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    let_crashes_end_it();
    snprintf(local.sun_path, sizeof local.sun_path, "%s/socket", rig_dir);
    assert_true(fd >= 0 && (over_tcp ? connect(fd, (struct sockaddr *)&remote, sizeof remote)
                                     : connect(fd, (struct sockaddr *)&local, sizeof local)) == 0);
    return fd;
}

/* Connects, and sends. The listener takes the connection later, as the loop goes on. */
static int begin(const char *bytes, size_t size)
{
    int fd = connect_to_it();

    for (beats = 0; size > 0; lose_patience("the request to be read")) { /* a long one is read meanwhile */
        ssize_t n = send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN)
            break;
        bytes += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
        if (size > 0)
            rig_turn();
    }
    got_size = 0;
    return fd;
}

/* Waits for more, and reads that. Returns false where the connection is closed. */
static bool read_more(int fd)
{
    ssize_t n;

    uv_poll_init(&loop, &client, fd);
    uv_poll_start(&client, UV_READABLE, on_client);
    beats = 0;
    while ((n = recv(fd, got + got_size, ROOM - 1 - got_size, MSG_DONTWAIT)) < 0 && errno == EAGAIN && beats < PATIENCE)
        uv_run(&loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&client, NULL);
    rig_turn();
    if (n < 0 && beats >= PATIENCE) {
        close(fd);
        lose_patience("more of the reply");
    }
    got_size += n > 0 ? (size_t)n : 0;
    got[got_size] = '\0';
    return n > 0;
}

/* Puts the chunks of the body together. */
static void join(const char *from, size_t size)
{
    const char *end = from + size;
    char *rest;

    while (from < end) {
        size_t n = strtoul(from, &rest, 16);

        if (n == 0) {
            reply.whole = true;
            return;
        }
        from = rest + 2;
        if (from + n > end)
            return;
        memcpy(reply.body + reply.size, from, n);
        reply.size += n;
        from += n + 2;
    }
}

static const struct reply *take_reply(int fd)
{
    const char *length;
    char *end;

    while (read_more(fd))
        ;
    close(fd);
    free(reply.body);
    reply = (struct reply){.body = xcalloc(1, got_size + 1)};
    end = strstr(got, "\r\n\r\n");
    if (end == NULL)
        return &reply;
    snprintf(reply.headers, sizeof reply.headers, "%.*s", (int)(end + 2 - got), got);
    sscanf(got, "HTTP/1.1 %d", &reply.status);
    if (rig_header(&reply, "Transfer-Encoding") != NULL) {
        join(end + 4, got_size - (size_t)(end + 4 - got));
        return &reply;
    }
    reply.size = got_size - (size_t)(end + 4 - got);
    memcpy(reply.body, end + 4, reply.size);
    length = rig_header(&reply, "Content-Length");
    reply.whole = length == NULL || strtoul(length, NULL, 10) == reply.size;
    return &reply;
}

static char *words_of(const char *request, const char *headers, const char *body)
{
    char *length = body != NULL ? xasprintf("Content-Length: %zu\r\n", strlen(body)) : xstrdup(""), *all;

    all = xasprintf("%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s%s\r\n%s", request,
                    over_tcp ? "localhost" : "stretto", length, headers, body != NULL ? body : "");
    free(length);
    return all;
}

const struct reply *rig_ask(const char *request, const char *headers, const char *body)
{
    char *all = words_of(request, headers, body);
    const struct reply *r = take_reply(begin(all, strlen(all)));

    free(all);
    return r;
}

const char *rig_header(const struct reply *r, const char *name)
{
    size_t n = strlen(name);

    for (const char *line = r->headers; line != NULL && *line != '\0';
         line = strstr(line, "\r\n"), line += line != NULL ? 2 : 0)
        if (strncasecmp(line, name, n) == 0 && line[n] == ':') {
            snprintf(value, sizeof value, "%.*s", (int)strcspn(line + n + 2, "\r"), line + n + 2);
            return value;
        }
    return NULL;
}

const json_t *rig_json(const struct reply *r)
{
    json_decref(json);
    json = json_loadb(r->body, r->size, JSON_DECODE_ANY, NULL);
    if (json == NULL)
        fail_msg("no JSON: %s%s", r->headers, r->body);
    return json;
}

int rig_begin(const char *request, const char *headers)
{
    char *all = words_of(request, headers, NULL);
    int fd = begin(all, strlen(all));

    free(all);
    return fd;
}

void rig_until(int fd, const char *text)
{
    size_t seen = 0, n = strlen(text);
    char *found;

    while (got_size == 0 || strstr(got + seen, text) == NULL) {
        seen = got_size > n ? got_size - n : 0;
        if (!read_more(fd))
            fail_msg("closed before \"%s\": %s", text, got);
    }
    found = strstr(got, text) + strlen(text);
    got_size -= (size_t)(found - got);
    memmove(got, found, got_size + 1);
}

const char *rig_rest(int fd)
{
    while (read_more(fd))
        ;
    close(fd);
    return got;
}

const char *rig_bearer(const char *body)
{
    static char bearers[8][160];
    static int n;
    char *text = bearers[n++ % 8];

    over_tcp = false;
    snprintf(text, sizeof *bearers, "Authorization: Bearer %s\r\n",
             json_string_value(json_object_get(rig_json(rig_ask("POST /v1/tokens", "", body)), "token")));
    over_tcp = true;
    return text;
}
