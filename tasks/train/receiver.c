#include "tasks/train/receiver.h"

#include "common/log.h"
#include "common/thread.h"
#include "common/timefmt.h"
#include "tasks/train/descriptors.h"
#include "tasks/train/endpoint.h"
#include "tasks/train/intake.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#define SWEEP_MS 5000
#define OWE_MS 2 /* acknowledgements of a few frames may wait so long */
/* If small frames come this fast, a short sleep lets some gather: waking for each costs more than handling it. */
#define GATHER_FRAMES 4
#define GATHER_FRAME_BYTES ((size_t)64 << 10)
#define GATHER_NS 50000
#define TURN_FRAMES 64
#define TURN_BYTES ((size_t)16 << 20)

struct receiver {
    const struct train_config *config;
    void *zmq;
    struct endpoint *endpoint;
    void *socket; /* the endpoint's */
    struct pool *pool;
    struct kept *kept; /* or NULL */
    struct intake *intake;
    bool over;  /* the pool was told that reception is over */
    bool owing; /* acknowledgements are owed, since `owed` */
    int64_t owed;
    bool gather; /* many small frames came in the last turn */
    int64_t swept;
    int wake; /* eventfd: written to after one of the following was set */
    const struct resume *resume;
    atomic_bool stopping, reception_over, early, halting;
    sem_t halted;  /* posted when nothing is taken any more */
    sem_t started; /* posted when the endpoint is bound, or err says why not */
    struct error err;
    pthread_t thread;
    bool running;
};

static void receiver_reply(void *arg, const uint8_t *routing, uint8_t routing_size, const struct frame *f,
                           const char *payload)
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
    /* A member that is gone, or does not read, gets no reply: it asks again. */
    if (zmq_send(r->socket, routing, routing_size, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0 ||
        zmq_msg_send(&msg, r->socket, ZMQ_DONTWAIT) < 0)
        zmq_msg_close(&msg);
}

/* Receives one message: the connection's name, then the frame. Returns 1, or 0 if there is none now. */
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

/* Takes a bounded number of frames, then acknowledges. true if nothing was left to read. */
static bool receiver_turn(struct receiver *r)
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

/* For zmq_poll(): the ms until something is due without a message. */
static long until_due(const struct receiver *r, int64_t now)
{
    int64_t due = r->swept + SWEEP_MS;

    if (r->owing && r->owed + OWE_MS < due)
        due = r->owed + OWE_MS;
    return due > now ? (long)(due - now) : 0;
}

static void receiver_wake(const struct receiver *r)
{
    uint64_t one = 1;

    if (write(r->wake, &one, sizeof one) < 0 && errno != EAGAIN)
        log_error("cannot wake the receiver thread: %s", strerror(errno));
}

static void wait_for_messages(const struct receiver *r)
{
    zmq_pollitem_t items[] = {{.socket = r->socket, .events = ZMQ_POLLIN}, {.fd = r->wake, .events = ZMQ_POLLIN}};
    uint64_t times;

    if (zmq_poll(items, 2, until_due(r, time_monotonic_ms())) > 0 && items[1].revents != 0 &&
        read(r->wake, &times, sizeof times) < 0 && errno != EAGAIN)
        log_error("cannot read the receiver thread's wake-up: %s", strerror(errno));
}

/* Takes nothing any more, and waits to be stopped. */
static void halt(struct receiver *r)
{
    struct pollfd wake = {.fd = r->wake, .events = POLLIN};
    uint64_t times;

    intake_halt(r->intake);
    sem_post(&r->halted);
    while (!atomic_load(&r->stopping))
        if (poll(&wake, 1, -1) > 0 && read(r->wake, &times, sizeof times) < 0 && errno != EAGAIN)
            log_error("cannot read the receiver thread's wake-up: %s", strerror(errno));
}

static void receive(struct receiver *r)
{
    bool told = false, empty = true;
    struct error err;

    if (intake_feed(r->intake, &err) < 0) {
        log_error("the samples of the generation before cannot be taken over: %s", err.text);
        pool_stop(r->pool); /* the training fails, rather than end without them */
    }
    while (!atomic_load(&r->stopping)) {
        int64_t now;

        if (atomic_load(&r->halting)) {
            halt(r);
            return;
        }

        if (empty && r->gather)
            nanosleep(&(struct timespec){.tv_nsec = GATHER_NS}, NULL);
        else if (empty)
            wait_for_messages(r);
        empty = receiver_turn(r);
        if (!told && atomic_load(&r->reception_over)) {
            told = true;
            if (atomic_load(&r->early))
                intake_end_quietly(r->intake);
            empty = false; /* frames that were on their way before are still taken first */
        }
        now = time_monotonic_ms();
        if (now >= r->swept + SWEEP_MS) {
            r->swept = now;
            intake_sweep(r->intake);
        }
        if (told && empty && !r->over) {
            r->over = true;
            pool_over(r->pool);
        }
    }
}

static int open_endpoint(struct receiver *r)
{
    r->zmq = zmq_ctx_new();
    if (r->zmq == NULL)
        return error_set(&r->err, "train_memory", "no ZeroMQ context");
    r->endpoint = endpoint_create(r->config, r->zmq, r->kept != NULL ? kept_head(r->kept) : NULL, &r->err);
    if (r->endpoint == NULL)
        return -1;
    r->socket = endpoint_socket(r->endpoint);
    return 0;
}

/* Runs the thread. ZeroMQ's threads are started by the first socket and share this thread's descriptors. So all
 * operations on the context and the socket, from the first to the last, are done here. */
static void *receiver_run(void *arg)
{
    struct receiver *r = arg;
    int rc;

    if (!descriptors_part(r->wake))
        log_warn("members' connections use up descriptors of the training program, since this system lets no thread "
                 "have its own (close_range and unshare: %s); some containers refuse that",
                 strerror(errno));
    rc = open_endpoint(r);
    sem_post(&r->started);
    if (rc == 0)
        receive(r);
    endpoint_destroy(r->endpoint);
    if (r->zmq != NULL)
        while (zmq_ctx_term(r->zmq) != 0 && zmq_errno() == EINTR)
            ;
    return NULL;
}

static int receiver_set_up(struct receiver *r)
{
    int rc;

    if (r->intake == NULL)
        return error_set(&r->err, "train_memory", "no memory for the receiver");
    if (intake_resume(r->intake, r->resume, &r->err) < 0)
        return -1;
    r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (r->wake < 0)
        return error_errno(&r->err, "train_thread", "cannot start the receiver thread");
    rc = thread_start(&r->thread, receiver_run, r);
    if (rc != 0)
        return error_set(&r->err, "train_thread", "cannot start the receiver thread: %s", strerror(rc));
    r->running = true;
    while (sem_wait(&r->started) < 0)
        ;
    return r->endpoint != NULL ? endpoint_publish(r->endpoint, r->config, &r->err) : -1;
}

struct receiver *receiver_start(const struct train_config *config, struct pool *pool, struct sample_store *store,
                                struct kept *kept, const struct resume *resume, struct error *err)
{
    struct receiver *r = calloc(1, sizeof *r);

    if (r == NULL) {
        error_set(err, "train_memory", "no memory for the receiver");
        return NULL;
    }
    r->wake = -1;
    r->config = config;
    r->pool = pool;
    r->resume = resume;
    r->kept = kept;
    r->intake = intake_create(config, pool, store, kept, receiver_reply, r);
    sem_init(&r->started, 0, 0);
    sem_init(&r->halted, 0, 0);
    if (receiver_set_up(r) == 0)
        return r;
    *err = r->err;
    receiver_stop(r);
    return NULL;
}

void receiver_over(struct receiver *r, bool early)
{
    atomic_store(&r->early, early);
    atomic_store(&r->reception_over, true);
    receiver_wake(r);
}

void receiver_halt(struct receiver *r)
{
    atomic_store(&r->halting, true);
    receiver_wake(r);
    while (sem_wait(&r->halted) < 0)
        ;
    sem_post(&r->halted); /* it stays so */
}

int receiver_hand_over(struct receiver *r, struct handover *handover, struct error *err)
{
    return intake_hand_over(r->intake, handover, err);
}

void receiver_stop(struct receiver *r)
{
    if (r == NULL)
        return;
    if (r->running) {
        atomic_store(&r->stopping, true);
        receiver_wake(r);
        pthread_join(r->thread, NULL);
    }
    if (r->wake >= 0)
        close(r->wake);
    sem_destroy(&r->started);
    sem_destroy(&r->halted);
    intake_destroy(r->intake);
    free(r);
}

void receiver_counters(struct receiver *r, struct receiver_counters *counters)
{
    intake_counters(r->intake, counters);
}

void receiver_held_counts(struct receiver *r, uint32_t *counts)
{
    intake_held_counts(r->intake, counts);
}

void receiver_ended(const struct receiver *r, const struct drawn *drawn, uint32_t *ended)
{
    intake_ended(r->intake, drawn, ended);
}
