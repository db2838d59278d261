#include "api/feed.h"

#include "api/limits.h"
#include "api/piece.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/store/event.h"

#include <stdlib.h>
#include <utlist.h>

#define LOOKS_MAX 64   /* waiters in one turn, so that many of them do not make it long */

/* News that come faster than this are told together; the more there are to tell, the longer, so that telling takes no more
 * than a small part of the loop's time. */
#define TOGETHER_MS(listeners) (20 + (listeners) / 4)

struct feed {
    const struct api_config *config;
    uv_timer_t news, beat;
    int open_handles;
    bool ending;
    bool review;
    unsigned joined;
    int64_t newest;
    struct piece *piece;
    uint64_t told; /* when the last round begins, or began */
    struct feed_waiter *idle, *due;
};

static void on_news(uv_timer_t *timer)
{
    struct feed *feed = timer->data;
    struct feed_waiter *waiter;

    for (int n = 0; n < LOOKS_MAX && (waiter = feed->due) != NULL; n++) {
        enum feed_look answer;

        DL_DELETE(feed->due, waiter);
        answer = waiter->look(waiter);
        if (answer == FEED_AGAIN)
            DL_APPEND(feed->due, waiter);
        else if (answer == FEED_WAITS)
            DL_APPEND(feed->idle, waiter);
    }
    if (feed->due != NULL)
        uv_timer_start(timer, on_news, 1, 0);
}

static void end_those_over(struct feed_waiter **list)
{
    struct feed_waiter *waiter, *next;

    DL_FOREACH_SAFE (*list, waiter, next) {
        if (waiter->over(waiter)) {
            DL_DELETE(*list, waiter);
            waiter->wake(waiter);
        }
    }
}

/* Every quarter of a heartbeat: who has been silent for three of them, and whose token has expired. */
static void on_beat(uv_timer_t *timer)
{
    struct feed *feed = timer->data;
    int64_t before = (int64_t)uv_now(feed->config->loop) - feed->config->heartbeat_ms * 3 / 4;
    struct feed_waiter *waiter, *next;

    end_those_over(&feed->idle);
    end_those_over(&feed->due);
    DL_FOREACH_SAFE (feed->idle, waiter, next) {
        if (waiter->since <= before) {
            DL_DELETE(feed->idle, waiter);
            waiter->wake(waiter);
        }
    }
}

static void on_commit(void *arg)
{
    struct feed *feed = arg;
    int64_t oldest, newest;
    uint64_t now = uv_now(feed->config->loop), soonest = feed->told + TOGETHER_MS(feed->joined);
    struct error err;

    if (feed->review) {
        feed->review = false;
        end_those_over(&feed->idle);
        end_those_over(&feed->due);
    }
    if (store_event_bounds(feed->config->store, &oldest, &newest, &err) < 0) {
        log_warn("events cannot be told: %s", err.text);
        return;
    }
    if (newest == feed->newest)
        return;
    feed->newest = newest;
    if (feed->idle == NULL)
        return;
    DL_CONCAT(feed->due, feed->idle);
    feed->idle = NULL;
    if (uv_is_active((uv_handle_t *)&feed->news))
        return;
    feed->told = now < soonest ? soonest : now;
    uv_timer_start(&feed->news, on_news, feed->told - now, 0);
}

struct feed *feed_create(const struct api_config *config)
{
    struct feed *feed = xcalloc(1, sizeof *feed);

    feed->config = config;
    feed->newest = -1;
    feed->open_handles = 2;
    uv_timer_init(config->loop, &feed->news);
    uv_timer_init(config->loop, &feed->beat);
    feed->news.data = feed->beat.data = feed;
    uv_timer_start(&feed->beat, on_beat, (uint64_t)config->heartbeat_ms / 4, (uint64_t)config->heartbeat_ms / 4);
    uv_unref((uv_handle_t *)&feed->beat);
    turn_on_commit(config->turn, on_commit, feed);
    if (!store_dirty(config->store)) /* else the commit tells */
        on_commit(feed);
    return feed;
}

static void on_closed(uv_handle_t *handle)
{
    struct feed *feed = handle->data;

    if (--feed->open_handles == 0)
        free(feed);
}

void feed_destroy(struct feed *feed)
{
    struct feed_waiter *waiter;

    if (feed == NULL)
        return;
    feed->ending = true;
    turn_on_commit(feed->config->turn, NULL, NULL);
    DL_CONCAT(feed->idle, feed->due);
    feed->due = NULL;
    while ((waiter = feed->idle) != NULL) {
        DL_DELETE(feed->idle, waiter);
        waiter->wake(waiter);
    }
    piece_drop(feed->piece);
    uv_close((uv_handle_t *)&feed->news, on_closed);
    uv_close((uv_handle_t *)&feed->beat, on_closed);
}

void feed_review(struct feed *feed)
{
    feed->review = true;
}

int64_t feed_newest(const struct feed *feed)
{
    return feed->newest;
}

struct piece **feed_piece(struct feed *feed)
{
    return &feed->piece;
}

bool feed_ending(const struct feed *feed)
{
    return feed->ending;
}

bool feed_join(struct feed *feed)
{
    if (feed->joined == LIMIT_STREAMS)
        return false;
    feed->joined++;
    return true;
}

void feed_leave(struct feed *feed)
{
    feed->joined--;
}

void feed_wait(struct feed *feed, struct feed_waiter *waiter, bool again)
{
    waiter->since = (int64_t)uv_now(feed->config->loop);
    if (!again) {
        DL_APPEND(feed->idle, waiter);
        return;
    }
    DL_APPEND(feed->due, waiter);
    if (!uv_is_active((uv_handle_t *)&feed->news))
        uv_timer_start(&feed->news, on_news, 1, 0);
}
