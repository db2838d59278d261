#include "tasks/member/links.h"

#include "common/timefmt.h"
#include "tasks/member/flusher.h"
#include "tasks/member/stretto.h"
#include "tasks/proto/alive.h"
#include "tasks/proto/ckptdir.h"
#include "tasks/proto/shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define WINDOW_FRAMES 1024              /* for each rank */
#define HELD_BACK_MS 1
/* The pauses between looks for acknowledgements while the program does not call; they grow while none come. */
#define ACKS_FIRST_MS 2
#define ACKS_MAX_MS 128

struct links {
    const struct environment *env;
    int count;
    struct link **link; /* one for each rank */
    zmq_pollitem_t *items; /* one for each rank, for waiting */
    void *zmq;
    struct sendbuf_pool *pool;
    struct slots *slots; /* NULL where nothing can be shared */
    struct flusher *flusher;
    bool late; /* frames that were held could not be sent, for the reason late_err */
    struct error late_err;
    uint64_t sent; /* frames of samples */
    /* The account of these frames, where the member leaves checkpoints; else NULL. */
    struct held_file *account;
    uint64_t begun, whole, held; /* whole: frames before the oldest step that lacks fields */
    int acks_ms; /* ms until the flusher looks for acknowledgements */
};

/* Writes into the account how much the ranks hold by now. */
static void note_held(struct links *l)
{
    uint64_t oldest = l->whole + 1;

    if (l->account == NULL)
        return;
    for (int i = 0; i < l->count; i++)
        if (link_oldest(l->link[i]) < oldest)
            oldest = link_oldest(l->link[i]);
    if (oldest - 1 != l->held)
        l->acks_ms = ACKS_FIRST_MS;
    l->held = oldest - 1;
    held_note(l->account, l->begun, l->held);
}

static int service_all(struct links *l, struct error *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < l->count; i++)
        rc = link_service(l->link[i], err);
    note_held(l);
    return rc;
}

/* Returns the ms after which the flusher is to look for acknowledgements, where the account needs them; 0: never. */
static int acks_due(const struct links *l)
{
    return l->account != NULL && l->held < l->sent ? l->acks_ms : 0;
}

/* Called by the flusher. The next call of the program reports a failure. */
static int look(void *arg)
{
    struct links *l = arg;
    bool held = false;

    if (acks_due(l) > 0 && !l->late) {
        l->acks_ms = 2 * l->acks_ms < ACKS_MAX_MS ? 2 * l->acks_ms : ACKS_MAX_MS;
        l->late = service_all(l, &l->late_err) < 0;
    }

    for (int i = 0; i < l->count; i++) {
        int rc = link_look(l->link[i], &l->late_err);

        l->late = l->late || rc < 0;
        held = held || rc > 0;
    }
    return held ? HELD_BACK_MS : l->late ? 0 : acks_due(l);
}

static bool some_here(const struct discovery *ranks)
{
    for (int i = 0; i < ranks->ranks; i++)
        if (strncmp(ranks->address[i].endpoint[0], "ipc://", 6) == 0)
            return true;
    return false;
}

/* Opens the account where the runner keeps records of this member's checkpoints, which need to know what the ranks
 * held. */
static int open_account(struct links *l, const struct link_config *config, struct error *err)
{
    const char *dir = getenv("STRETTO_CHECKPOINT_DIR");
    char *records;

    if (dir == NULL || *dir == '\0')
        return 0;
    records = ckptdir_records(dir);
    if (records == NULL)
        return error_set(err, "stream_memory", "no memory for the stream");
    if (access(records, F_OK) == 0)
        l->account = held_create(records, (int64_t)l->env->ensemble, l->env->attempt, config->session,
                                 config->generation, err);
    else
        dir = NULL;
    free(records);
    return dir == NULL || l->account != NULL ? 0 : -1;
}

static int connect_all(struct links *l, const struct discovery *ranks, struct error *err)
{
    struct link_config config = {.env = l->env,
                                 .generation = ranks->generation,
                                 .window_bytes = FRAME_WINDOW_BYTES / (size_t)ranks->ranks,
                                 .window_frames = WINDOW_FRAMES,
                                 .sent = &l->sent};

    if (getrandom(&config.session, sizeof config.session, 0) != sizeof config.session)
        return error_errno(err, "stream_random", "cannot draw a session number");
    if (open_account(l, &config, err) < 0)
        return -1;
    l->zmq = zmq_ctx_new();
    l->pool = sendbuf_pool_create();
    if (l->zmq == NULL || l->pool == NULL)
        return error_set(err, "stream_memory", "no memory for the stream");
    zmq_ctx_set(l->zmq, ZMQ_MAX_SOCKETS, ranks->ranks + 8);
    config.zmq = l->zmq;
    config.pool = l->pool;
    if (shared_wanted() && some_here(ranks))
        l->slots = slots_create(shared_size(&l->env->fields, ranks->ranks));
    config.slots = l->slots;
    for (; l->count < ranks->ranks; l->count++) {
        config.rank = l->count;
        config.address = &ranks->address[l->count];
        l->link[l->count] = link_create(&config, err);
        if (l->link[l->count] == NULL)
            return -1;
    }
    return 0;
}

struct links *links_create(const struct environment *env, const struct discovery *ranks, struct error *err)
{
    struct links *l = calloc(1, sizeof *l);

    if (l != NULL) {
        l->env = env;
        l->acks_ms = ACKS_FIRST_MS;
        l->link = calloc((size_t)ranks->ranks, sizeof(struct link *));
        l->items = calloc((size_t)ranks->ranks, sizeof *l->items);
        l->flusher = flusher_create(look, l);
    }
    if (l == NULL || l->link == NULL || l->items == NULL || l->flusher == NULL)
        error_set(err, "stream_memory", "no memory for the stream");
    else if (connect_all(l, ranks, err) == 0)
        return l;
    links_destroy(l);
    return NULL;
}

void links_destroy(struct links *l)
{
    if (l == NULL)
        return;
    flusher_destroy(l->flusher);
    for (int i = 0; i < l->count; i++)
        link_destroy(l->link[i]);
    free(l->link);
    free(l->items);
    if (l->zmq != NULL)
        while (zmq_ctx_term(l->zmq) != 0 && zmq_errno() == EINTR)
            ;
    held_destroy(l->account);
    sendbuf_pool_destroy(l->pool);
    slots_destroy(l->slots);
    free(l);
}

struct sendbuf_pool *links_pool(const struct links *l)
{
    return l->pool;
}

struct slots *links_slots(const struct links *l, const struct link *link)
{
    for (int i = 0; link == NULL && i < l->count; i++)
        if (!link_shares(l->link[i]))
            return NULL;
    return link == NULL || link_shares(link) ? l->slots : NULL;
}

static int flush(struct links *l, struct error *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < l->count; i++)
        rc = link_flush(l->link[i], err);
    return rc;
}

void links_enter(struct links *l)
{
    flusher_lock(l->flusher);
}

int links_leave(struct links *l, int rc, struct error *err)
{
    bool held = false;

    for (int i = 0; !held && i < l->count; i++)
        held = link_holds(l->link[i]);
    if (flusher_unlock(l->flusher, held ? HELD_BACK_MS : acks_due(l)) < 0) {
        if (flush(l, err) < 0)
            rc = -1;
        flusher_unlock(l->flusher, 0);
    }
    return rc;
}

void links_begin_frame(struct links *l)
{
    l->begun = l->sent + 1;
    l->acks_ms = ACKS_FIRST_MS;
    if (l->account != NULL)
        held_note(l->account, l->begun, l->held);
}

void links_note_whole(struct links *l, uint64_t frames)
{
    l->whole = frames;
}

uint64_t links_sent(const struct links *l)
{
    return l->sent;
}

/* Chooses a link by member and step alone, so that a step that a later attempt sends again goes to the rank that knows
 * it. */
struct link *links_of_step(const struct links *l, int64_t step)
{
    return l->link[(l->env->member + (uint64_t)step) % (uint64_t)l->count];
}

static int service(struct links *l, struct error *err)
{
    if (l->late) {
        *err = l->late_err;
        return -1;
    }
    return service_all(l, err);
}

/* Sleeps until a rank sends something, a timer is due or the member's walltime is over; STRETTO_AGAIN where `until` has
 * passed. Frames that are held are sent first. */
static int wait_for_ranks(struct links *l, int64_t until, const char *what, struct error *err)
{
    int64_t timeout = environment_left_ms(l->env), patience = until - time_monotonic_ms();
    int rc = 0;

    if (timeout == 0)
        return error_set(err, "stream_deadline", "the member's walltime ended while waiting %s", what);
    if (patience <= 0)
        return STRETTO_AGAIN;
    if (flush(l, err) < 0)
        return -1;
    if (patience < timeout)
        timeout = patience;
    for (int i = 0; i < l->count; i++) {
        int64_t due = link_timeout(l->link[i]);

        l->items[i] = (zmq_pollitem_t){.socket = link_socket(l->link[i]), .events = ZMQ_POLLIN};
        if (due >= 0 && due < timeout)
            timeout = due;
    }
    alive_sign();
    if (alive_pause_ms() < timeout)
        timeout = alive_pause_ms();
    /* an interrupted wait is only a shorter one */
    if (zmq_poll(l->items, l->count, timeout < 60000 ? (long)timeout : 60000) < 0 && zmq_errno() != EINTR)
        rc = error_set(err, "stream_poll", "cannot wait for the ranks: %s", zmq_strerror(zmq_errno()));
    return rc;
}

int links_wait_for_room(struct links *l, struct link *link, size_t size, int64_t until, struct error *err)
{
    int rc = service(l, err);

    while (rc == 0 && !link_has_room(link, size)) {
        rc = wait_for_ranks(l, until, "for room in the ranks' buffers", err);
        if (rc == 0)
            rc = service(l, err);
    }
    return rc;
}

static bool settled(const struct links *l)
{
    for (int i = 0; i < l->count; i++)
        if (!link_settled(l->link[i]))
            return false;
    return true;
}

static int wait_until_settled(struct links *l, int64_t until, const char *what, struct error *err)
{
    int rc = service(l, err);

    while (rc == 0 && !settled(l)) {
        rc = wait_for_ranks(l, until, what, err);
        if (rc == 0)
            rc = service(l, err);
    }
    return rc;
}

int links_wait_held(struct links *l, int64_t until, struct error *err)
{
    int rc = wait_until_settled(l, until, "for the ranks to hold what was sent before the checkpoint", err);

    if (rc == 0 && l->account != NULL)
        held_flush(l->account);
    return rc;
}

/* Records that the checkpoint from which this attempt went on cannot be used: the next attempt begins at the start. */
static int begin_afresh(struct links *l)
{
    char *records;

    if (l->account == NULL)
        return -1;
    records = ckptdir_records(getenv("STRETTO_CHECKPOINT_DIR"));
    if (records != NULL)
        held_begin_afresh(records, (int64_t)l->env->ensemble, l->env->attempt);
    free(records);
    return -1;
}

static int check_steps(struct links *l, struct error *err)
{
    uint64_t steps = 0;

    for (int i = 0; i < l->count; i++) {
        steps += link_member_held(l->link[i]);
        if (link_complaint(l->link[i])[0] != '\0') {
            error_set(err, "stream_steps_missing", "%s", link_complaint(l->link[i]));
            return begin_afresh(l);
        }
    }
    if (steps >= l->env->steps)
        return 0;
    error_set(err, "stream_steps_missing",
              "the training holds %llu steps of this member, of the %llu that its spec says: %llu are missing",
              (unsigned long long)steps, (unsigned long long)l->env->steps,
              (unsigned long long)(l->env->steps - steps));
    return begin_afresh(l);
}

int links_finish(struct links *l, int64_t until, struct error *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < l->count; i++)
        rc = link_finalize(l->link[i], err);
    if (rc == 0)
        rc = wait_until_settled(l, until, "for the ranks to acknowledge", err);
    return rc == 0 ? check_steps(l, err) : rc;
}
