#include "daemon/turn.h"

#include "common/log.h"
#include "common/log_changes.h"
#include "common/stretto_assert.h"
#include "common/xalloc.h"
#include "daemon/flusher.h"

#include <stdlib.h>
#include <string.h>

#define PAUSE_MAX_NS 5000000

struct waiter {
    void (*cb)(void *arg, const struct error *err);
    void *arg;
};

struct waiters {
    struct waiter *list;
    size_t n, cap;
};

struct turn {
    uv_loop_t *loop;
    uv_prepare_t *prepare; /* allocated on its own, as the timer is, since libuv needs it after turn_destroy() */
    uv_timer_t *timer;     /* for the end of patience_ms, or of the pause between commits */
    unsigned patience_ms, share;
    uint64_t next_ns; /* no commit before this time */
    /* when the last commit ended, and how long after a commit the next one is wanted, on average */
    uint64_t ended_ns, wanted_ns;
    bool wanted; /* the next commit is wanted, and wanted_ns takes it into account */
    struct store *store;
    void (*rolled_back)(void *arg);
    void *arg;
    void (*on_commit)(void *arg);
    void *on_commit_arg;
    struct waiters waiting;  /* callbacks that wait for the next commit */
    struct flusher *flusher; /* NULL if commits flush by themselves */
    bool flushing;
    struct waiters flushed; /* callbacks that wait for the flush that is under way */
    void (*lost)(void *arg, const struct error *err);
    void *lost_arg;
    bool troubled;
    struct error trouble;
};

/* Calls those who waited. They may write and wait again, which is for the next commit. */
static void tell_waiters(struct waiters *those, const struct error *err)
{
    struct waiters told = *those;

    *those = (struct waiters){0};
    for (size_t i = 0; i < told.n; i++)
        told.list[i].cb(told.list[i].arg, err);
    free(told.list);
}

/* Commits, and sets when the next commit may be. There is no pause if changes come seldom: it would only delay them,
 * and join none. */
static int turn_commit(struct turn *turn, bool wrote, struct error *err)
{
    uint64_t began = turn->share > 0 && wrote ? uv_hrtime() : 0, pause;
    int rc = store_commit(turn->store, err);

    if (began != 0) {
        turn->wanted = false;
        turn->ended_ns = uv_hrtime();
        pause = (turn->ended_ns - began) * turn->share;
        if (pause > PAUSE_MAX_NS)
            pause = PAUSE_MAX_NS;
        turn->next_ns = turn->ended_ns + (turn->wanted_ns < pause / 2 ? pause : 0);
    }
    return rc;
}

/* Updates the moving average of the time between a commit and the next change that wants one. */
static void note_wanted(struct turn *turn)
{
    uint64_t after = uv_hrtime() - turn->ended_ns;

    turn->wanted = true;
    if (after > 10 * PAUSE_MAX_NS)
        after = 10 * PAUSE_MAX_NS;
    turn->wanted_ns = (7 * turn->wanted_ns + after) / 8;
}

static void end_trouble(struct turn *turn)
{
    if (turn->troubled)
        log_info("changes can be stored again");
    turn->troubled = false;
}

/* Called when the committed changes are on disk. */
static void turn_conclude(struct turn *turn, bool wrote, struct waiters *those)
{
    if (wrote)
        end_trouble(turn);
    if (wrote && turn->on_commit != NULL)
        turn->on_commit(turn->on_commit_arg);
    tell_waiters(those, NULL);
}

static void on_flushed(void *arg, const struct error *err)
{
    struct turn *turn = arg;

    stretto_assert(turn->flushing);
    turn->flushing = false;
    if (err != NULL) {
        turn->lost(turn->lost_arg, err);
        return;
    }
    store_flushed(turn->store);
    turn_conclude(turn, true, &turn->flushed);
}

/* Leaves the flush of the last commit to the flusher. */
static void turn_flush(struct turn *turn)
{
    stretto_assert(!turn->flushing && turn->flushed.n == 0);
    turn->flushing = true;
    turn->flushed = turn->waiting;
    turn->waiting = (struct waiters){0};
    flusher_start(turn->flusher);
}

static void turn_settle(struct turn *turn)
{
    while (!turn->flushing && (store_dirty(turn->store) || turn->waiting.n > 0)) {
        bool wrote = store_dirty(turn->store);
        struct error err;

        if (turn_commit(turn, wrote, &err) == 0) {
            log_changes_write();
            if (store_owes_flush(turn->store))
                turn_flush(turn);
            else
                turn_conclude(turn, wrote, &turn->waiting);
            continue;
        }
        log_changes_drop();
        /* logged once for each cause, not a thousand times while the disk is full */
        if (!turn->troubled || strcmp(err.text, turn->trouble.text) != 0)
            log_error("changes cannot be stored, and are taken back: %s", err.text);
        turn->troubled = true;
        turn->trouble = err;
        tell_waiters(&turn->waiting, &err);
        turn->rolled_back(turn->arg);
        return; /* changes that are still open wait for the next turn, so that a full disk does not make a busy loop */
    }
}

static void turn_on_timer(uv_timer_t *timer)
{
    turn_settle(timer->data);
}

/* Returns in how many milliseconds the open changes may be committed. */
static uint64_t due_in(const struct turn *turn)
{
    uint64_t now;

    if (!store_dirty(turn->store))
        return 0;
    if (turn->waiting.n == 0 && turn->patience_ms > 0)
        return turn->patience_ms;
    now = turn->share > 0 ? uv_hrtime() : 0;
    return now < turn->next_ns ? (turn->next_ns - now + 999999) / 1000000 : 0;
}

static void on_prepare(uv_prepare_t *handle)
{
    struct turn *turn = handle->data;
    uint64_t ms;

    if (turn->share > 0 && !turn->wanted && store_dirty(turn->store))
        note_wanted(turn);
    if (!store_dirty(turn->store)) /* lines may be kept although nothing had to be stored for them */
        log_changes_write();
    if (turn->flushing) /* the end of the flush wakes the loop up, which comes by here again */
        return;
    ms = due_in(turn);
    if (ms == 0) {
        uv_timer_stop(turn->timer);
        turn_settle(turn);
    } else if (!uv_is_active((uv_handle_t *)turn->timer) || uv_timer_get_due_in(turn->timer) > ms) {
        uv_timer_start(turn->timer, turn_on_timer, ms, 0);
    }
}

void turn_be_patient(struct turn *turn, unsigned ms)
{
    turn->patience_ms = ms;
}

void turn_pause(struct turn *turn, unsigned share)
{
    turn->share = share;
}

struct turn *turn_create(uv_loop_t *loop, struct store *store, void (*rolled_back)(void *arg), void *arg)
{
    struct turn *turn = xcalloc(1, sizeof *turn);

    turn->loop = loop;
    turn->store = store;
    turn->rolled_back = rolled_back;
    turn->arg = arg;
    turn->prepare = xcalloc(1, sizeof *turn->prepare);
    turn->timer = xcalloc(1, sizeof *turn->timer);
    uv_prepare_init(loop, turn->prepare);
    uv_timer_init(loop, turn->timer);
    turn->prepare->data = turn->timer->data = turn;
    uv_prepare_start(turn->prepare, on_prepare);
    uv_unref((uv_handle_t *)turn->prepare);
    log_changes_keep(true);
    return turn;
}

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

void turn_destroy(struct turn *turn)
{
    if (turn == NULL)
        return;
    if (turn->flusher != NULL)
        flusher_destroy(turn->flusher);
    store_defer_flush(turn->store, false);
    turn_settle(turn);
    log_changes_keep(false);
    uv_close((uv_handle_t *)turn->prepare, free_handle);
    uv_close((uv_handle_t *)turn->timer, free_handle);
    free(turn->waiting.list);
    free(turn->flushed.list); /* not empty after a flush that failed, if the process still goes on (in tests) */
    free(turn);
}

void turn_after_commit(struct turn *turn, void (*cb)(void *arg, const struct error *err), void *arg)
{
    /* if no change is open, all changes so far are in the flush that is under way */
    struct waiters *w = turn->flushing && !store_dirty(turn->store) ? &turn->flushed : &turn->waiting;

    if (w->n == w->cap) {
        w->cap = w->cap ? 2 * w->cap : 16;
        w->list = xrealloc(w->list, w->cap, sizeof *w->list);
    }
    w->list[w->n++] = (struct waiter){cb, arg};
}

void turn_flush_apart(struct turn *turn, void (*lost)(void *arg, const struct error *err), void *arg)
{
    turn->lost = lost;
    turn->lost_arg = arg;
    turn->flusher = flusher_create(turn->loop, turn->store, on_flushed, turn);
    store_defer_flush(turn->store, true);
}

void turn_on_commit(struct turn *turn, void (*cb)(void *arg), void *arg)
{
    turn->on_commit = cb;
    turn->on_commit_arg = arg;
}

void turn_trouble_over(struct turn *turn, const char *code)
{
    if (turn->troubled && strcmp(turn->trouble.code, code) == 0)
        end_trouble(turn);
}

const struct error *turn_trouble(const struct turn *turn)
{
    return turn->troubled ? &turn->trouble : NULL;
}
