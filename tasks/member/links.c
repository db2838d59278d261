#include "tasks/member/links.h"

#include "common/log.h"
#include "common/timefmt.h"
#include "tasks/member/link_flusher.h"
#include "tasks/member/generation.h"
#include "tasks/member/stretto.h"
#include "tasks/proto/alive.h"
#include "tasks/proto/ckptdir.h"
#include "tasks/proto/shared.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define HELD_BACK_MS 1
/* The pauses between looks for acknowledgements while the program does not call; they grow while none come. */
#define ACKS_FIRST_MS 2
#define ACKS_MAX_MS 128

struct links {
    const struct environment *env;
    uint64_t session;
    struct generation to; /* the ranks */
    /* Looks for a later generation while a rank does not answer: monotonic ms of the last one, and ms to the next. */
    int64_t looked, look_pause;
    bool finishing; /* nothing more will be sent */
    struct sendbuf_pool *pool;
    struct slots *slots; /* NULL if nothing can be shared */
    struct known *known; /* what the ranks have of earlier attempts; NULL for the first one */
    struct link_flusher *flusher;
    bool late; /* frames that were held could not be sent, for the reason late_err */
    struct error late_err;
    uint64_t sent; /* frames of samples */
    /* The account of these frames, if the member leaves checkpoints; else NULL. */
    struct held_file *account;
    uint64_t begun, whole, held; /* whole: frames before the oldest step that lacks fields */
    int acks_ms;                 /* ms until the flusher looks for acknowledgements */
};

/* Writes into the account how much the ranks hold by now. */
static void note_held(struct links *l)
{
    uint64_t oldest = l->whole + 1;

    if (l->account == NULL)
        return;
    for (int i = 0; i < l->to.count; i++)
        if (link_oldest(l->to.link[i]) < oldest)
            oldest = link_oldest(l->to.link[i]);
    if (oldest - 1 != l->held)
        l->acks_ms = ACKS_FIRST_MS;
    l->held = oldest - 1;
    held_note(l->account, l->begun, l->held);
}

static int service_all(struct links *l, struct error *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < l->to.count; i++)
        rc = link_service(l->to.link[i], err);
    note_held(l);
    return rc;
}

/* Returns the ms after which the flusher is to look for acknowledgements, if the account needs them; 0: never. */
static int acks_due(const struct links *l)
{
    return l->account != NULL && l->held < l->sent ? l->acks_ms : 0;
}

static bool some_here(const struct discovery *ranks)
{
    for (int i = 0; i < ranks->ranks; i++)
        if (strncmp(ranks->address[i].endpoint[0], "ipc://", 6) == 0)
            return true;
    return false;
}

/* Returns when, in monotonic ms, to look for a later generation of ranks; INT64_MAX while no rank owes an answer. */
static int64_t look_due(const struct links *l)
{
    int64_t since = INT64_MAX;

    for (int i = 0; i < l->to.count; i++)
        if (link_unanswered(l->to.link[i]) < since)
            since = link_unanswered(l->to.link[i]);
    if (since == INT64_MAX)
        return since;
    return since > l->looked ? since + l->env->silence / 2 : l->looked + l->look_pause;
}

static struct link_config common_config(struct links *l)
{
    return (struct link_config){
        .env = l->env, .session = l->session, .pool = l->pool, .slots = l->slots, .known = l->known, .sent = &l->sent};
}

static void make_slots(struct links *l, const struct discovery *ranks)
{
    if (l->slots == NULL && shared_wanted() && some_here(ranks))
        l->slots = slots_create(shared_size(&l->env->fields, ranks->ranks));
}

/* Goes on to other ranks, which are taken over. */
static int move_to_ranks(struct links *l, struct discovery *ranks, struct error *err)
{
    uint32_t generation = ranks->generation;
    struct link_config config;
    int rc;

    make_slots(l, ranks);
    config = common_config(l);
    rc = generation_follow(&l->to, &config, ranks, err);
    if (rc == 0 && l->account != NULL)
        held_move(l->account, generation);
    for (int i = 0; rc == 0 && l->finishing && i < l->to.count; i++)
        rc = link_finalize(l->to.link[i], err);
    if (rc < 0) { /* the stream is broken: nothing more is asked of it, nor noted in the account */
        l->late = true;
        l->late_err = *err;
        return -1;
    }
    log_info("member %llu.%llu goes on to generation %lu of the training's ranks", (unsigned long long)l->env->ensemble,
             (unsigned long long)l->env->member, (unsigned long)generation);
    return 0;
}

/* Follows the training if a rank does not answer since a later generation has taken the place of its own. It looks
 * seldom, and less and less, as thousands of members may wait, and the file system is all of theirs. */
static int follow_generation(struct links *l, struct error *err)
{
    int64_t due = look_due(l), now = due < INT64_MAX ? time_monotonic_ms() : 0, first = l->env->silence / 2 + 1;
    struct discovery found;

    if (now < due)
        return 0;
    l->look_pause = due == l->looked + l->look_pause ? 2 * l->look_pause : first;
    if (l->look_pause > 4 * first)
        l->look_pause = 4 * first;
    l->looked = now;
    return discovery_later(l->env, l->to.ranks.generation, &found) ? move_to_ranks(l, &found, err) : 0;
}

static int service_and_follow(struct links *l, struct error *err)
{
    return service_all(l, err) == 0 ? follow_generation(l, err) : -1;
}

/* Called by the flusher. The next call of the program reports a failure. */
static int links_look(void *arg)
{
    struct links *l = arg;
    bool held = false;

    if (acks_due(l) > 0 && !l->late) {
        l->acks_ms = 2 * l->acks_ms < ACKS_MAX_MS ? 2 * l->acks_ms : ACKS_MAX_MS;
        l->late = service_and_follow(l, &l->late_err) < 0;
    }

    for (int i = 0; i < l->to.count; i++) {
        int rc = link_look(l->to.link[i], &l->late_err);

        l->late = l->late || rc < 0;
        held = held || rc > 0;
    }
    return held ? HELD_BACK_MS : l->late ? 0 : acks_due(l);
}

/* Opens the account if the runner keeps records of this member's checkpoints, which need to know what the ranks
 * held. */
static int open_account(struct links *l, int64_t generation, struct error *err)
{
    const char *dir = getenv("STRETTO_CHECKPOINT_DIR");
    char *records;

    if (dir == NULL || *dir == '\0')
        return 0;
    records = ckptdir_records(dir);
    if (records == NULL)
        return error_set(err, "stream_memory", "no memory for the stream");
    if (access(records, F_OK) == 0)
        l->account = held_create(records, (int64_t)l->env->ensemble, l->env->attempt, l->session, generation, err);
    else
        dir = NULL;
    free(records);
    return dir == NULL || l->account != NULL ? 0 : -1;
}

static int connect_ranks(struct links *l, struct discovery *ranks, struct error *err)
{
    struct link_config config;

    if (getrandom(&l->session, sizeof l->session, 0) != sizeof l->session)
        return error_errno(err, "stream_random", "cannot draw a session number");
    if (open_account(l, ranks->generation, err) < 0)
        return -1;
    l->pool = sendbuf_pool_create();
    l->known = l->env->attempt > 1 ? known_create() : NULL;
    if (l->pool == NULL || (l->env->attempt > 1 && l->known == NULL))
        return error_set(err, "stream_memory", "no memory for the stream");
    make_slots(l, ranks);
    config = common_config(l);
    return generation_connect(&l->to, &config, ranks, err);
}

struct links *links_create(const struct environment *env, struct discovery *ranks, struct error *err)
{
    struct links *l = calloc(1, sizeof *l);

    if (l != NULL) {
        l->env = env;
        l->acks_ms = ACKS_FIRST_MS;
        l->flusher = link_flusher_create(links_look, l);
    }
    if (l == NULL || l->flusher == NULL)
        error_set(err, "stream_memory", "no memory for the stream");
    else if (connect_ranks(l, ranks, err) == 0)
        return l;
    links_destroy(l);
    return NULL;
}

void links_destroy(struct links *l)
{
    if (l == NULL)
        return;
    link_flusher_destroy(l->flusher);
    generation_fini(&l->to);
    held_destroy(l->account);
    sendbuf_pool_destroy(l->pool);
    slots_destroy(l->slots);
    known_destroy(l->known);
    free(l);
}

struct sendbuf_pool *links_pool(const struct links *l)
{
    return l->pool;
}

struct slots *links_slots(const struct links *l, const struct link *link)
{
    for (int i = 0; link == NULL && i < l->to.count; i++)
        if (!link_shares(l->to.link[i]))
            return NULL;
    return link == NULL || link_shares(link) ? l->slots : NULL;
}

void links_enter(struct links *l)
{
    link_flusher_lock(l->flusher);
}

int links_leave(struct links *l, int rc, struct error *err)
{
    bool held = false;

    for (int i = 0; !held && i < l->to.count; i++)
        held = link_holds(l->to.link[i]);
    if (link_flusher_unlock(l->flusher, held ? HELD_BACK_MS : acks_due(l)) < 0) {
        if (generation_flush(&l->to, err) < 0)
            rc = -1;
        link_flusher_unlock(l->flusher, 0);
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

int links_mark(const struct links *l, enum stream_end end, struct error *err)
{
    if (l->env->marks == NULL)
        return 0;
    return end == STREAM_OPEN ? streams_open(l->env->marks, l->session, err)
                              : streams_end(l->env->marks, l->session, end, err);
}

uint64_t links_sent(const struct links *l)
{
    return l->sent;
}

static int service(struct links *l, struct error *err)
{
    if (l->late) {
        *err = l->late_err;
        return -1;
    }
    return service_and_follow(l, err);
}

/* Sleeps until a rank sends something, a timer is due or the member's walltime is over; STRETTO_AGAIN if `until` has
 * passed. Frames that are held are sent first. */
static int wait_for_ranks(struct links *l, int64_t until, const char *what, struct error *err)
{
    int64_t timeout = environment_left_ms(l->env), now = time_monotonic_ms(), patience = until - now, look;
    int rc = 0;

    if (timeout == 0)
        return error_set(err, "stream_deadline", "the member's walltime ended while waiting %s", what);
    if (patience <= 0)
        return STRETTO_AGAIN;
    if (generation_flush(&l->to, err) < 0)
        return -1;
    if (patience < timeout)
        timeout = patience;
    for (int i = 0; i < l->to.count; i++) {
        int64_t due = link_timeout(l->to.link[i]);

        l->to.items[i] = (zmq_pollitem_t){.socket = link_socket(l->to.link[i]), .events = ZMQ_POLLIN};
        if (due >= 0 && due < timeout)
            timeout = due;
    }
    look = look_due(l);
    if (look < INT64_MAX && look - now < timeout)
        timeout = look > now ? look - now : 0;
    alive_sign();
    if (alive_pause_ms() < timeout)
        timeout = alive_pause_ms();
    /* an interrupted wait is only a shorter one */
    if (zmq_poll(l->to.items, l->to.count, timeout < 60000 ? (long)timeout : 60000) < 0 && zmq_errno() != EINTR)
        rc = error_set(err, "stream_poll", "cannot wait for the ranks: %s", zmq_strerror(zmq_errno()));
    return rc;
}

int links_room(struct links *l, int64_t step, size_t size, int64_t until, struct link **link, struct error *err)
{
    int rc;

    *link = generation_link(&l->to, l->env->member, step);
    if (link_gathers(*link, size))
        return 0;
    for (;;) {
        rc = service(l, err);
        *link = generation_link(&l->to, l->env->member, step);
        if (rc == 0 && link_has_room(*link, size))
            return 0;
        if (rc == 0)
            rc = wait_for_ranks(l, until, "for room in the ranks' buffers", err);
        if (rc != 0)
            return rc;
    }
}

int links_skip(struct links *l, int64_t step, bool count, int64_t until, bool *skip, struct error *err)
{
    int rc = 0;

    *skip = false;
    if (l->known == NULL || step < 0)
        return 0;
    while (rc == 0 && !link_is_welcome(generation_link(&l->to, l->env->member, step))) {
        rc = service(l, err);
        if (rc == 0 && !link_is_welcome(generation_link(&l->to, l->env->member, step)))
            rc = wait_for_ranks(l, until, "for the ranks to tell which steps they have", err);
    }
    if (rc != 0 || !known_has(l->known, step))
        return rc;
    *skip = true;
    if (count)
        link_skip(generation_link(&l->to, l->env->member, step));
    return 0;
}

static bool settled(const struct links *l)
{
    for (int i = 0; i < l->to.count; i++)
        if (!link_settled(l->to.link[i]))
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

/* Checks that no steps are missing. A checkpoint that was the attempt's last act counts if fewer steps came than the
 * spec says: the program has stopped there, and the steps behind it are missing. */
static int check_steps(struct links *l, bool covered, struct error *err)
{
    uint64_t steps = 0;

    for (int i = 0; i < l->to.count; i++) {
        steps += link_member_held(l->to.link[i]);
        if (link_complaint(l->to.link[i])[0] != '\0') {
            error_set(err, "stream_steps_missing", "%s", link_complaint(l->to.link[i]));
            return begin_afresh(l);
        }
    }
    if (steps >= l->env->steps)
        return 0;
    error_set(err, "stream_steps_missing",
              "the training holds %llu steps of this member, of the %llu that its spec says: %llu are missing",
              (unsigned long long)steps, (unsigned long long)l->env->steps,
              (unsigned long long)(l->env->steps - steps));
    return covered ? -1 : begin_afresh(l);
}

int links_finish(struct links *l, bool covered, int64_t until, struct error *err)
{
    int rc = 0;

    l->finishing = true;
    for (int i = 0; rc == 0 && i < l->to.count; i++)
        rc = link_finalize(l->to.link[i], err);
    if (rc == 0)
        rc = wait_until_settled(l, until, "for the ranks to acknowledge", err);
    return rc == 0 ? check_steps(l, covered, err) : rc;
}
