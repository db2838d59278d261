#include "daemon/prune.h"

#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "daemon/store/event.h"
#include "daemon/store/idempotency.h"
#include "daemon/store/session.h"

#include <stdlib.h>

#define STEP 500 /* events, and as many replies, that are removed in one turn */
#define STEP_MS 50
#define REST_MS 60000

struct prune {
    uv_timer_t timer;
    struct store *store;
    int64_t keep_events_ms;
};

static void prune_on_timer(uv_timer_t *timer)
{
    struct prune *prune = timer->data;
    int64_t n = 0, rest = prune->keep_events_ms / 2 < REST_MS ? prune->keep_events_ms / 2 : REST_MS;
    struct error err;

    if (store_check_room(prune->store, &err) < 0) { /* removing rows needs room on the disk, too */
        uv_timer_start(timer, prune_on_timer, (uint64_t)rest, 0);
        return;
    }
    if (store_event_prune(prune->store, time_now_ms() - prune->keep_events_ms, STEP, &n, &err) < 0)
        log_warn("old events stay for now: %s", err.text);
    if (store_idempotency_prune(prune->store, time_now_ms(), STEP, &err) < 0)
        log_warn("old replies stay for now: %s", err.text);
    if (store_session_prune(prune->store, time_now_ms(), &err) < 0)
        log_warn("expired sessions of browsers stay for now: %s", err.text);
    uv_timer_start(timer, prune_on_timer, n == STEP ? STEP_MS : (uint64_t)rest, 0);
}

struct prune *prune_create(uv_loop_t *loop, struct store *store, int64_t keep_events_ms)
{
    struct prune *prune = xcalloc(1, sizeof *prune);

    prune->store = store;
    prune->keep_events_ms = keep_events_ms;
    uv_timer_init(loop, &prune->timer);
    prune->timer.data = prune;
    uv_timer_start(&prune->timer, prune_on_timer, STEP_MS, 0);
    return prune;
}

static void free_prune(uv_handle_t *handle)
{
    free(handle->data);
}

void prune_destroy(struct prune *prune)
{
    if (prune != NULL)
        uv_close((uv_handle_t *)&prune->timer, free_prune);
}
