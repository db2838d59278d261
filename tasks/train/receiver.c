#include "tasks/train/receiver.h"

#include "common/files.h"
#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "tasks/train/intake.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#define LOOK_MS 200 /* for reception.json, and no oftener */
#define SWEEP_MS 5000
#define OWE_MS 2    /* for which acknowledgements of a little may wait */
/* Where small frames come this fast, a short sleep lets some gather: waking for each costs more than taking it. */
#define GATHER_FRAMES 4
#define GATHER_FRAME_BYTES ((size_t)64 << 10)
#define GATHER_NS 50000
#define TURN_FRAMES 64
#define TURN_BYTES ((size_t)16 << 20)

struct receiver {
    const struct train_config *config;
    void *socket;
    struct pool *pool;
    struct intake *intake;
    char *reception; /* path of reception.json */
    bool over;
    bool owing; /* acknowledgements, since: */
    int64_t owed;
    bool gather; /* many small frames came in the last turn */
    int64_t looked, swept;
    int wake; /* eventfd: readable once the thread shall end */
    atomic_bool stopping;
    pthread_t thread;
};

static void reply(void *arg, const uint8_t *routing, uint8_t routing_size, const struct frame *f, const char *payload)
{
    struct receiver *r = arg;
    uint8_t *data;
    zmq_msg_t msg;

    if (zmq_msg_init_size(&msg, FRAME_HEADER_SIZE + f->length) != 0)
        return;
    data = zmq_msg_data(&msg);
    frame_encode(f, data);
    if (f->length > 0)
        memcpy(data + FRAME_HEADER_SIZE, payload, f->length);
    /* A member that is gone, or does not read, gets none: it asks again. */
    if (zmq_send(r->socket, routing, routing_size, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0 ||
        zmq_msg_send(&msg, r->socket, ZMQ_DONTWAIT) < 0)
        zmq_msg_close(&msg);
}

/* One message: the connection's name, then the frame. 1 where there was one, 0 where there is none now. */
static int receive_one(struct receiver *r, size_t *bytes)
{
    uint8_t routing[255], size;
    zmq_msg_t name, msg;
    int parts = 0;

    zmq_msg_init(&name);
    if (zmq_msg_recv(&name, r->socket, ZMQ_DONTWAIT) < 0)
        return 0;
    size = (uint8_t)zmq_msg_size(&name);
    memcpy(routing, zmq_msg_data(&name), size);
    zmq_msg_init(&msg);
    for (bool more = zmq_msg_more(&name); more; parts++) {
        if (zmq_msg_recv(&msg, r->socket, 0) < 0)
            break;
        more = zmq_msg_more(&msg);
    }
    if (parts == 1)
        *bytes += intake_message(r->intake, routing, size, &msg);
    else
        intake_parts(r->intake, routing, size, parts);
    zmq_msg_close(&msg);
    zmq_msg_close(&name);
    return 1;
}

/* A bounded number of frames, then acknowledgements. true where nothing was left to read. */
static bool turn(struct receiver *r)
{
    size_t bytes = 0;
    bool empty = false;
    int frames = 0;

    while (frames < TURN_FRAMES && bytes < TURN_BYTES && !empty && !atomic_load(&r->stopping)) {
        empty = receive_one(r, &bytes) == 0;
        frames += !empty;
    }
    r->gather = frames >= GATHER_FRAMES && bytes < (size_t)frames * GATHER_FRAME_BYTES;
    if (!intake_turn(r->intake)) {
        r->owing = false;
    } else if (!r->owing) {
        r->owing = true;
        r->owed = time_monotonic_ms();
    } else if (time_monotonic_ms() >= r->owed + OWE_MS) {
        intake_flush(r->intake);
        r->owing = false;
    }
    return empty;
}

static bool reception_is_over(struct receiver *r)
{
    struct error err;
    json_t *value;
    bool over;

    if (access(r->reception, F_OK) != 0)
        return false;
    value = file_read_json(r->reception, &err);
    if (value == NULL)
        log_warn("%s", err.text);
    over = json_is_true(json_object_get(value, "over"));
    json_decref(value);
    return over;
}

/* For zmq_poll(): ms until there is something to do unasked; -1 where there is nothing. */
static long until_due(const struct receiver *r, int64_t now)
{
    int64_t due = r->over ? INT64_MAX : r->looked + LOOK_MS;

    if (r->owing && r->owed + OWE_MS < due)
        due = r->owed + OWE_MS;
    return due == INT64_MAX ? -1 : due > now ? (long)(due - now) : 0;
}

static void *run(void *arg)
{
    struct receiver *r = arg;
    bool told = false, empty = true;

    while (!atomic_load(&r->stopping)) {
        zmq_pollitem_t items[] = {{.socket = r->socket, .events = ZMQ_POLLIN}, {.fd = r->wake, .events = ZMQ_POLLIN}};
        int64_t now = time_monotonic_ms();

        if (empty && r->gather)
            nanosleep(&(struct timespec){.tv_nsec = GATHER_NS}, NULL);
        else if (empty)
            zmq_poll(items, 2, until_due(r, now));
        empty = turn(r);
        now = time_monotonic_ms();
        if (!told && now >= r->looked + LOOK_MS) {
            r->looked = now;
            told = reception_is_over(r);
            empty = false; /* what was on its way before the file was seen is still taken in first */
        }
        if (now >= r->swept + SWEEP_MS) {
            r->swept = now;
            intake_sweep(r->intake);
        }
        if (told && empty && !r->over) {
            r->over = true;
            pool_over(r->pool);
        }
    }
    return NULL;
}

struct receiver *receiver_start(const struct train_config *config, void *socket, struct pool *pool,
                                struct sample_store *store, struct error *err)
{
    struct receiver *r = xcalloc(1, sizeof *r);
    sigset_t all, before;
    int rc;

    r->config = config;
    r->socket = socket;
    r->pool = pool;
    r->intake = intake_create(config, pool, store, reply, r);
    r->reception = xasprintf("%s/reception.json", config->dir);
    r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* Signals are the program's: they must not land in a thread that it does not know. */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    rc = r->wake < 0 ? -1 : pthread_create(&r->thread, NULL, run, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        return r;
    error_set(err, "train_thread", "cannot start the receiver thread");
    if (r->wake >= 0)
        close(r->wake);
    intake_destroy(r->intake);
    free(r->reception);
    free(r);
    return NULL;
}

void receiver_stop(struct receiver *r)
{
    uint64_t one = 1;

    if (r == NULL)
        return;
    atomic_store(&r->stopping, true);
    if (write(r->wake, &one, sizeof one) < 0)
        log_error("cannot wake the receiver thread");
    pthread_join(r->thread, NULL);
    close(r->wake);
    intake_destroy(r->intake);
    free(r->reception);
    free(r);
}

void receiver_counters(struct receiver *r, struct receiver_counters *counters)
{
    intake_counters(r->intake, counters);
}
