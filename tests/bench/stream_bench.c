/* stream_bench WHAT TRANSPORT BYTES SENDERS SAMPLES [PROGRAM...]: how fast sender processes get samples into batches of
 * ten, in this process. One JSON object on standard output.
 *
 *   stretto  stretto_send() to stretto_train_batch() through a reservoir; as many batches are drawn as tens have come
 *   copies   raw libzmq, PUSH to PULL, one message a sample, with the same two copies: memcpy() from the solver's array
 *            into a send buffer of the pool that stretto itself uses, so recycled, and memcpy() from the message, just
 *            received and so still in the cache, into a batch. No header, no acknowledgement, no buffer; either end may
 *            queue 32 MiB (at most 1,000 messages), what stretto's window is
 *   raw      the same without any copy: the solver's array is the message, and nothing is read
 *   loop     as stretto, but batches are drawn without a pause: the rate is that of draws while samples come in
 *   run      PROGRAM is the rank, and prints what it finds
 *
 * The first half of the samples is for warming up. CPU times are of all threads, in ms a sample. */
#include "tasks/member/sendbuf.h"
#include "tasks/train/stretto-train.h"
#include "tests/bench/stream_rig.h"

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

#define AHEAD_BYTES (32 << 20) /* that raw libzmq may queue at either end; what stretto's window is */

static const char *what;
static struct rig rig;
static long samples, warmed;
static double draws; /* a sample */
static pid_t process[RIG_SENDERS_MAX];
static char endpoint[128]; /* of the raw baselines */

static bool over_stretto(void)
{
    return strcmp(what, "copies") != 0 && strcmp(what, "raw") != 0;
}

static double cpu_of(int who)
{
    struct rusage u;

    getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int hwm(void)
{
    size_t messages = AHEAD_BYTES / rig.bytes;

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
            must(sendbuf_message(pool, rig.bytes, &msg) == 0, "no memory");
            memcpy(zmq_msg_data(&msg), data, rig.bytes);
        } else {
            zmq_msg_init_data(&msg, (void *)data, rig.bytes, keep, NULL);
        }
        must(zmq_msg_send(&msg, socket, 0) >= 0, "cannot send");
    }
    zmq_close(socket);
    zmq_ctx_term(zmq);
    sendbuf_pool_destroy(pool);
}

static void __attribute__((noreturn)) sender(long number, int go)
{
    long count = samples / rig.senders;
    float *data = malloc(rig.bytes);
    char ready;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < rig.bytes / sizeof(float); i++)
        data[i] = (float)i;
    must(read(go, &ready, 1) == 1, "the receiver is gone");
    if (over_stretto())
        rig_send(&rig, number, data, count);
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
static void take_by_stretto(struct stretto_train *t, float *batch, long warm, struct timing *from, struct timing *to)
{
    void *fields[] = {batch};
    struct stretto_train_stats s = {0};
    long drawn = 0;

    while ((long)s.received < samples) {
        bool before = (long)s.received < warm;

        stretto_train_stats(t, &s);
        if (before && (long)s.received >= warm) {
            *from = mark();
            warm = (long)s.received;
        }
        if ((long)s.received < drawn + RIG_BATCH && s.unseen < rig.capacity / 10 * 9)
            nanosleep(&(struct timespec){.tv_nsec = rig.bytes < 100000 ? 200000 : 1000000}, NULL);
        else if (stretto_train_batch(t, fields, NULL, NULL, NULL, 60000) == RIG_BATCH)
            drawn += RIG_BATCH;
        else
            die("no batch");
    }
    *to = mark();
    warmed = warm;
    draws = (double)drawn / (double)samples;
}

/* Draws as fast as it goes, as tests/bench/loader_bench.py does. */
static void take_in_a_loop(struct stretto_train *t, float *batch)
{
    void *fields[] = {batch};
    struct stretto_train_stats s = {0};
    double from = 0, to = 0;
    long drawn = 0;

    while ((long)s.received < samples) {
        must(stretto_train_batch(t, fields, NULL, NULL, NULL, 60000) == RIG_BATCH, "no batch");
        stretto_train_stats(t, &s);
        if (from == 0 && (long)s.received >= samples / 2)
            from = now();
        else if (from > 0 && to == 0)
            drawn += RIG_BATCH;
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
        must(zmq_msg_recv(&msg, socket, 0) == (int)rig.bytes, "not what was sent");
        if (copies)
            memcpy(batch + (size_t)(i % RIG_BATCH) * rig.bytes, zmq_msg_data(&msg), rig.bytes);
        if (i + 1 == warm)
            *from = mark();
    }
    *to = mark();
    zmq_msg_close(&msg);
}

static void receive(int go, struct timing *from, struct timing *to, long warm)
{
    char *batch = malloc(RIG_BATCH * rig.bytes);

    memset(batch, 0, RIG_BATCH * rig.bytes);
    if (over_stretto()) {
        struct stretto_train *t;

        if (stretto_train_open(&t) != 0)
            die(stretto_train_error(t));
        rig_offer(&rig);
        must(write(go, "12345678", (size_t)rig.senders) == rig.senders, "no sender");
        if (strcmp(what, "loop") == 0)
            take_in_a_loop(t, (float *)batch);
        else
            take_by_stretto(t, (float *)batch, warm, from, to);
        while (waitpid(-1, NULL, WNOHANG) >= 0) /* the last ones may still wait for room */
            stretto_train_batch(t, (void *[]){batch}, NULL, NULL, NULL, 1);
        stretto_train_close(t);
    } else {
        void *zmq = zmq_ctx_new(), *socket = zmq_socket(zmq, ZMQ_PULL);
        int ahead = hwm();
        size_t size = sizeof endpoint;

        zmq_setsockopt(socket, ZMQ_RCVHWM, &ahead, sizeof ahead);
        must(zmq_bind(socket, endpoint) == 0, "cannot bind");
        zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size);
        must(write(go, "12345678", (size_t)rig.senders) == rig.senders, "no sender");
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
    must(rank > 0 && write(go, "12345678", (size_t)rig.senders) == rig.senders, "no sender");
    must(waitpid(rank, &status, 0) == rank, "no rank");
    for (long i = 0; i < rig.senders; i++)
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
        fputs("usage: stream_bench stretto|copies|raw|loop|run memory|ipc|tcp|curve BYTES SENDERS SAMPLES [PROGRAM...]\n",
              stderr);
        return 2;
    }
    what = argv[1];
    rig.transport = rig_transport(argv[2]);
    rig.bytes = (size_t)atol(argv[3]) / sizeof(float) * sizeof(float);
    rig.senders = atol(argv[4]);
    must(rig.bytes > 0 && rig.senders > 0 && rig.senders <= RIG_SENDERS_MAX, "impossible numbers");
    samples = atol(argv[5]) / (rig.senders * RIG_BATCH) * rig.senders * RIG_BATCH;
    must(samples >= 100, "too few samples");
    must(over_stretto() || rig.transport != RIG_CURVE, "raw libzmq is timed without encryption");
    warm = warmed = samples / 2 / RIG_BATCH * RIG_BATCH;
    rig_init(&rig);
    must(pipe(go) == 0, "no pipe");
    if (rig.transport == RIG_MEMORY || rig.transport == RIG_IPC)
        snprintf(endpoint, sizeof endpoint, "ipc://%s/raw", rig.dir);
    else
        snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%d", port);
    for (long i = 0; i < rig.senders; i++)
        if ((process[i] = fork()) == 0)
            sender(i, go[0]);
    if (strcmp(what, "run") == 0) {
        must(argc > 6 && run_rank(argv + 6, go[1]) == 0, "the program failed");
        return rig_remove(&rig);
    }
    receive(go[1], &from, &to, warm);
    counted = (double)(samples - warmed);
    if (strcmp(what, "loop") != 0)
        printf("{\"samples_per_second\": %.1f, \"gigabytes_per_second\": %.3f, \"receiver_cpu_ms\": %.5f, "
               "\"sender_cpu_ms\": %.5f, \"draws\": %.2f, \"receiver_faults\": %.1f}\n",
               counted / (to.at - from.at), counted * (double)rig.bytes / (to.at - from.at) / 1e9,
               (to.cpu - from.cpu) * 1e3 / counted, cpu_of(RUSAGE_CHILDREN) * 1e3 / (double)samples, draws,
               (double)(to.faults - from.faults) / counted);
    return rig_remove(&rig);
}
