/* stream_bench WHAT TRANSPORT BYTES SENDERS SAMPLES [PROGRAM...]: how fast sender processes get samples into batches of
 * ten, in this process. One JSON object on standard output.
 *
 *   stretto  stretto_send() to st_train_batch() through a reservoir; as many batches are drawn as tens have come
 *   copies   raw libzmq, PUSH to PULL, with the same two copies: into a recycled send buffer, out into a batch
 *   raw      raw libzmq without any copy
 *   loop     as stretto, but batches are drawn without a pause: the rate is that of draws while samples come in
 *   run      PROGRAM is the rank, and prints what it finds
 *
 * The first half of the samples is for warming up. CPU times are of all threads, in ms a sample. */
#include "tasks/member/sendbuf.h"
#include "tasks/member/stretto.h"
#include "tasks/train/stretto-train.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#define BATCH 10
#define KEY "9f86d081884c7d65"
#define AHEAD_BYTES (32 << 20) /* that raw libzmq may queue at either end; what stretto's window is */

static const char *what, *transport;
static size_t bytes, capacity; /* of a sample, and of the reservoir */
static long senders, samples, warmed;
static double draws; /* a sample */
static pid_t process[8];
static char dir[64];
static char endpoint[128]; /* of the raw baselines */

static void __attribute__((noreturn)) die(const char *why)
{
    fprintf(stderr, "stream_bench: %s\n", why);
    exit(1);
}

static void must(bool held, const char *why)
{
    if (!held)
        die(why);
}

static bool over_stretto(void)
{
    return strcmp(what, "copies") != 0 && strcmp(what, "raw") != 0;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_of(int who)
{
    struct rusage u;

    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void write_file(const char *name, const char *text)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "w");
    must(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0, "cannot write into the temporary directory");
}

/* The run directory of one rank, and the environment of rank and members. */
static void make_run_directory(void)
{
    char fields[128], text[1024];
    snprintf(fields, sizeof fields, "{\"u\": {\"dtype\": \"float32\", \"shape\": [%zu]}}", bytes / sizeof(float));
    snprintf(text, sizeof text,
             "{\"version\": 1, \"ensemble\": 7, \"training\": 1, \"job\": \"st-0-1\", \"generation\": 1, \"ranks\": 1, "
             "\"count\": %ld, \"stream\": \"%s\", \"stream_key\": \"" KEY "\", \"parameters\": [], \"fields\": %s, "
             "\"buffer\": {\"policy\": \"reservoir\", \"capacity\": %zu, \"threshold\": %d, \"batch\": %d, "
             "\"seed\": 7}}",
             senders, dir, fields, capacity, BATCH, BATCH);
    write_file("training.json", text);
    write_file("current.json", "{\"version\": 1, \"generation\": 1, \"ranks\": 1}");
    setenv("STRETTO_TRAINING_DIR", dir, 1);
    setenv("STRETTO_TMPDIR", dir, 1);
    setenv("STRETTO_RANK", "0", 1);
    setenv("STRETTO_STREAM", dir, 1);
    setenv("STRETTO_STREAM_KEY", KEY, 1);
    setenv("STRETTO_ENSEMBLE", "7", 1);
    setenv("STRETTO_ATTEMPT", "1", 1);
    setenv("STRETTO_PARAMS", "{}", 1);
    setenv("STRETTO_FIELDS", fields, 1);
    if (strcmp(transport, "tcp") == 0)
        setenv("STRETTO_STREAM_TCP", "127.0.0.1", 1);
}

static void send_by_stretto(long member, const float *data, long count)
{
    int64_t shape[] = {(int64_t)(bytes / sizeof(float))};
    struct stretto *s;
    char text[24];
    int u;

    snprintf(text, sizeof text, "%ld", member);
    setenv("STRETTO_MEMBER", text, 1);
    must(stretto_open(&s) == 0, stretto_error(s));
    u = stretto_field(s, "u", STRETTO_FLOAT32, 1, shape);
    for (long i = 0; i < count; i++)
        must(u >= 0 && stretto_send(s, u, i, data) == 0, stretto_error(s));
    must(stretto_close(s) == 0, "not everything was acknowledged");
}

static int hwm(void)
{
    size_t messages = AHEAD_BYTES / bytes;

    return messages > 1000 ? 1000 : (int)messages;
}

static void keep(void *data, void *hint)
{
}

static void send_raw(const float *data, long count, bool copies)
{
    void *zmq = zmq_ctx_new(), *socket = zmq_socket(zmq, ZMQ_PUSH);
    struct sendbuf_pool *pool = sendbuf_pool_create();
    int ahead = hwm();

    zmq_setsockopt(socket, ZMQ_SNDHWM, &ahead, sizeof ahead);
    must(pool != NULL && zmq_connect(socket, endpoint) == 0, "cannot connect");
    for (long i = 0; i < count; i++) {
        zmq_msg_t msg;

        if (copies) {
            must(sendbuf_message(pool, bytes, &msg) == 0, "no memory");
            memcpy(zmq_msg_data(&msg), data, bytes);
        } else {
            zmq_msg_init_data(&msg, (void *)data, bytes, keep, NULL);
        }
        must(zmq_msg_send(&msg, socket, 0) >= 0, "cannot send");
    }
    zmq_close(socket);
    zmq_ctx_term(zmq);
    sendbuf_pool_destroy(pool);
}

static void __attribute__((noreturn)) sender(long number, int go)
{
    long count = samples / senders;
    float *data = malloc(bytes);
    char ready;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < bytes / sizeof(float); i++)
        data[i] = (float)i;
    must(read(go, &ready, 1) == 1, "the receiver is gone");
    if (over_stretto())
        send_by_stretto(number, data, count);
    else
        send_raw(data, count, strcmp(what, "copies") == 0);
    _exit(0);
}

struct timing {
    double at, cpu;
    long faults;
};

static struct timing mark(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (struct timing){now(), cpu_of(RUSAGE_SELF), u.ru_minflt};
}

/* A reservoir draws with replacement: where only as many are drawn as have come, the share of the unseen grows until
 * reception waits. So a batch is drawn for each ten that have come, and whenever nine tenths are unseen. */
static void take_by_stretto(struct st_train *t, float *batch, long warm, struct timing *from, struct timing *to)
{
    void *fields[] = {batch};
    struct st_train_stats s = {0};
    long drawn = 0;

    while ((long)s.received < samples) {
        bool before = (long)s.received < warm;

        st_train_stats(t, &s);
        if (before && (long)s.received >= warm) {
            *from = mark();
            warm = (long)s.received;
        }
        if ((long)s.received < drawn + BATCH && s.unseen < capacity / 10 * 9)
            nanosleep(&(struct timespec){.tv_nsec = bytes < 100000 ? 200000 : 1000000}, NULL);
        else if (st_train_batch(t, fields, NULL, NULL, NULL, 60000) == BATCH)
            drawn += BATCH;
        else
            die("no batch");
    }
    *to = mark();
    warmed = warm;
    draws = (double)drawn / (double)samples;
}

/* As fast as it goes, as tests/bench/loader_bench.py does. */
static void take_in_a_loop(struct st_train *t, float *batch)
{
    void *fields[] = {batch};
    struct st_train_stats s = {0};
    double from = 0, to = 0;
    long drawn = 0;

    while ((long)s.received < samples) {
        must(st_train_batch(t, fields, NULL, NULL, NULL, 60000) == BATCH, "no batch");
        st_train_stats(t, &s);
        if (from == 0 && (long)s.received >= samples / 2)
            from = now();
        else if (from > 0 && to == 0)
            drawn += BATCH;
        if (from > 0 && to == 0 && (long)s.received >= samples * 9 / 10) {
            to = now();
            printf("{\"samples_per_second\": %.1f}\n", (double)drawn / (to - from));
        }
    }
}

static void take_raw(void *socket, char *batch, long warm, struct timing *from, struct timing *to)
{
    bool copies = strcmp(what, "copies") == 0;
    zmq_msg_t msg;

    zmq_msg_init(&msg);
    for (long i = 0; i < samples; i++) {
        must(zmq_msg_recv(&msg, socket, 0) == (int)bytes, "not what was sent");
        if (copies)
            memcpy(batch + (size_t)(i % BATCH) * bytes, zmq_msg_data(&msg), bytes);
        if (i + 1 == warm)
            *from = mark();
    }
    *to = mark();
    zmq_msg_close(&msg);
}

/* On one host members would take the Unix socket. */
static void offer_tcp_alone(void)
{
    char path[160], text[1024] = "", *tcp, *end;
    FILE *f;

    snprintf(path, sizeof path, "%s/g1-rank0.json", dir);
    f = fopen(path, "r");
    must(f != NULL && fread(text, 1, sizeof text - 1, f) > 0 && fclose(f) == 0, "no endpoint");
    tcp = strstr(text, "tcp://");
    must(tcp != NULL, "no TCP endpoint");
    end = strchr(tcp, '"');
    *end = '\0';
    memmove(endpoint, tcp, strlen(tcp) + 1);
    snprintf(text, sizeof text,
             "{\"version\": 1, \"generation\": 1, \"rank\": 0, \"ranks\": 1, \"host\": \"\", \"endpoints\": [\"%s\"]}",
             endpoint);
    write_file("g1-rank0.json", text);
}

static void receive(int go, struct timing *from, struct timing *to, long warm)
{
    char *batch = malloc(BATCH * bytes);

    memset(batch, 0, BATCH * bytes);
    if (over_stretto()) {
        struct st_train *t;

        must(st_train_open(&t) == 0, st_train_error(t));
        if (strcmp(transport, "tcp") == 0)
            offer_tcp_alone();
        must(write(go, "12345678", (size_t)senders) == senders, "no sender");
        if (strcmp(what, "loop") == 0)
            take_in_a_loop(t, (float *)batch);
        else
            take_by_stretto(t, (float *)batch, warm, from, to);
        while (waitpid(-1, NULL, WNOHANG) >= 0) /* the last ones may still wait for room */
            st_train_batch(t, (void *[]){batch}, NULL, NULL, NULL, 1);
        st_train_close(t);
    } else {
        void *zmq = zmq_ctx_new(), *socket = zmq_socket(zmq, ZMQ_PULL);
        int ahead = hwm();
        size_t size = sizeof endpoint;

        zmq_setsockopt(socket, ZMQ_RCVHWM, &ahead, sizeof ahead);
        must(zmq_bind(socket, endpoint) == 0, "cannot bind");
        zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size);
        must(write(go, "12345678", (size_t)senders) == senders, "no sender");
        take_raw(socket, batch, warm, from, to);
        while (wait(NULL) > 0)
            ;
        zmq_close(socket);
        zmq_ctx_term(zmq);
    }
    free(batch);
}

/* Another program is the rank; then the members have nobody left. */
static int run_rank(char **argv, int go)
{
    int status = 1;
    pid_t rank = fork();

    if (rank == 0) {
        execvp(argv[0], argv);
        _exit(127);
    }
    must(rank > 0 && write(go, "12345678", (size_t)senders) == senders, "no sender");
    must(waitpid(rank, &status, 0) == rank, "no rank");
    for (long i = 0; i < senders; i++)
        kill(process[i], SIGKILL);
    while (wait(NULL) > 0)
        ;
    return status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct timing from = {0}, to = {0};
    double counted;
    long warm;
    int go[2], port = 20000 + getpid() % 20000;

    if (argc < 6) {
        fputs("usage: stream_bench stretto|copies|raw|loop|run ipc|tcp BYTES SENDERS SAMPLES [PROGRAM...]\n", stderr);
        return 2;
    }
    what = argv[1];
    transport = argv[2];
    bytes = (size_t)atol(argv[3]) / sizeof(float) * sizeof(float);
    senders = atol(argv[4]);
    samples = atol(argv[5]) / (senders * BATCH) * senders * BATCH;
    must(bytes > 0 && senders > 0 && senders <= 8 && samples >= 100, "impossible numbers");
    warm = warmed = samples / 2 / BATCH * BATCH;
    capacity = ((size_t)512 << 20) / bytes;
    if (capacity > 6000)
        capacity = 6000;
    snprintf(dir, sizeof dir, "/tmp/stretto-bench-XXXXXX");
    must(mkdtemp(dir) != NULL && pipe(go) == 0, "cannot make a temporary directory");
    if (strcmp(transport, "tcp") == 0)
        snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%d", port);
    else
        snprintf(endpoint, sizeof endpoint, "ipc://%s/raw", dir);
    make_run_directory();
    for (long i = 0; i < senders; i++)
        if ((process[i] = fork()) == 0)
            sender(i, go[0]);
    if (strcmp(what, "run") == 0) {
        must(argc > 6 && run_rank(argv + 6, go[1]) == 0, "the program failed");
        return execlp("rm", "rm", "-rf", dir, NULL);
    }
    receive(go[1], &from, &to, warm);
    counted = (double)(samples - warmed);
    if (strcmp(what, "loop") != 0)
        printf("{\"samples_per_second\": %.1f, \"gigabytes_per_second\": %.3f, \"receiver_cpu_ms\": %.5f, "
           "\"sender_cpu_ms\": %.5f, \"draws\": %.2f, \"faults\": %.1f}\n",
           counted / (to.at - from.at), counted * (double)bytes / (to.at - from.at) / 1e9,
           (to.cpu - from.cpu) * 1e3 / counted, cpu_of(RUSAGE_CHILDREN) * 1e3 / (double)samples, draws, (double)(to.faults - from.faults) / counted);
    fflush(stdout);
    return execlp("rm", "rm", "-rf", dir, NULL);
}
