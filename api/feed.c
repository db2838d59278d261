#include "api/feed.h"

#include "api/limits.h"
#include "api/piece.h"
#include "api/shares.h"
#include "common/stretto_assert.h"
#include "common/xalloc.h"
#include "daemon/store/event.h"

#include <stdlib.h>
#include <utlist.h>

#define SLICE_NS 2000000 /* time for sending at once; the loop does other work before the next slice */

/* Events that come faster than this are sent together, in rounds. The pause after a round grows with the time that the
 * round needed. So sending uses only a small part of the loop's time, whatever the number of clients and events. */
#define ROUND_MS_MIN 20
#define ROUND_MS_MAX 2000
#define ROUND_SHARE 40 /* sending takes one part in this many of the time */

struct feed {
    const struct api_config *config;
    uv_timer_t news, beat;
    int open_handles;
    bool ending;
    bool review;
    struct shares streams;
    int64_t newest, upto;
    struct pieces pieces;
    uint64_t next;     /* time at which the next round may begin */
    uint64_t spent_ns; /* time spent on sending since the last round ended */
    struct feed_waiter *idle, *due;
};

static uint64_t pause_after(uint64_t spent_ns)
{
    uint64_t ms = spent_ns * ROUND_SHARE / 1000000;

    return ms < ROUND_MS_MIN ? ROUND_MS_MIN : ms > ROUND_MS_MAX ? ROUND_MS_MAX : ms;
}

static void feed_wake_due(struct feed *feed)
{
    uint64_t began = uv_hrtime();
    struct feed_waiter *waiter;

    while ((waiter = feed->due) != NULL && uv_hrtime() - began < SLICE_NS) {
        enum feed_look answer;

        DL_DELETE(feed->due, waiter);
        answer = waiter->look(waiter);
        if (answer == FEED_WENT)
            continue;
        if (answer != FEED_WAITS)
            waiter->since = (int64_t)uv_now(feed->config->loop);
        if (answer == FEED_AGAIN)
            DL_APPEND(feed->due, waiter);
        else
            DL_APPEND(feed->idle, waiter);
    }
    feed->spent_ns += uv_hrtime() - began;
}

static void on_news(uv_timer_t *timer);

static void plan(struct feed *feed)
{
    uint64_t now = uv_now(feed->config->loop);

    if (feed->due != NULL)
        uv_timer_start(&feed->news, on_news, 1, 0);
    else if (feed->upto < feed->newest && feed->idle != NULL)
        uv_timer_start(&feed->news, on_news, feed->next > now ? feed->next - now : 0, 0);
}

static void on_news(uv_timer_t *timer)
{
    struct feed *feed = timer->data;
    uint64_t now = uv_now(feed->config->loop);

    if (feed->upto < feed->newest && now >= feed->next) {
        stretto_assert(feed->upto <= feed->newest);
        feed->upto = feed->newest;
        feed->next = now + ROUND_MS_MAX; /* in case clients with much to catch up with keep this round from ending */
        DL_CONCAT(feed->due, feed->idle);
        feed->idle = NULL;
    }
    feed_wake_due(feed);
    if (feed->due == NULL) {
        feed->next = now + pause_after(feed->spent_ns);
        feed->spent_ns = 0;
        pieces_forget(&feed->pieces);
    }
    plan(feed);
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

/* Rings four times in a heartbeat: ends streams whose token has expired, and calls those that were silent for three
 * quarters of one. */
static void feed_on_beat(uv_timer_t *timer)
{
    struct feed *feed = timer->data;
    int64_t before = (int64_t)uv_now(feed->config->loop) - feed->config->heartbeat_ms * 3 / 4;
    struct feed_waiter *waiter, *next;

    end_those_over(&feed->idle);
    end_those_over(&feed->due);
    DL_FOREACH_SAFE (feed->idle, waiter, next) {
        if (waiter->since > before)
            continue;
        DL_DELETE(feed->idle, waiter);
        if (waiter->beat(waiter))
            feed_wait(feed, waiter, false);
    }
}

static void feed_on_commit(void *arg)
{
    struct feed *feed = arg;

    if (feed->review) {
        feed->review = false;
        end_those_over(&feed->idle);
        end_those_over(&feed->due);
    }
    feed->newest = store_event_newest(feed->config->store);
    if (feed->streams.taken == 0)
        feed->upto = feed->newest;
    if (!uv_is_active((uv_handle_t *)&feed->news))
        plan(feed);
}

struct feed *feed_create(const struct api_config *config)
{
    struct feed *feed = xcalloc(1, sizeof *feed);

    feed->config = config;
    feed->streams = (struct shares){.max = LIMIT_STREAMS, .what = "event streams"};
    feed->newest = feed->upto = -1;
    feed->open_handles = 2;
    uv_timer_init(config->loop, &feed->news);
    uv_timer_init(config->loop, &feed->beat);
    feed->news.data = feed->beat.data = feed;
    uv_timer_start(&feed->beat, feed_on_beat, (uint64_t)config->heartbeat_ms / 4, (uint64_t)config->heartbeat_ms / 4);
    uv_unref((uv_handle_t *)&feed->beat);
    turn_on_commit(config->turn, feed_on_commit, feed);
    if (!store_dirty(config->store)) /* otherwise the commit calls feed_on_commit() */
        feed_on_commit(feed);
    return feed;
}

static void feed_handle_closed(uv_handle_t *handle)
{
    struct feed *feed = handle->data;

    stretto_assert(feed->open_handles > 0 && feed->idle == NULL && feed->due == NULL);
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
    pieces_forget(&feed->pieces);
    uv_close((uv_handle_t *)&feed->news, feed_handle_closed);
    uv_close((uv_handle_t *)&feed->beat, feed_handle_closed);
}

void feed_review(struct feed *feed)
{
    feed->review = true;
}

int64_t feed_newest(const struct feed *feed)
{
    return feed->newest;
}

int64_t feed_upto(const struct feed *feed)
{
    return feed->upto;
}

struct pieces *feed_pieces(struct feed *feed)
{
    return &feed->pieces;
}

bool feed_ending(const struct feed *feed)
{
    return feed->ending;
}

int feed_join(struct feed *feed, int64_t token, struct error *err)
{
    return shares_take(&feed->streams, token, err);
}

void feed_leave(struct feed *feed, int64_t token)
{
    shares_give_back(&feed->streams, token);
}

void feed_wait(struct feed *feed, struct feed_waiter *waiter, bool again)
{
    waiter->since = (int64_t)uv_now(feed->config->loop);
    if (!again) {
        DL_APPEND(feed->idle, waiter);
        return;
    }
    DL_APPEND(feed->due, waiter);
    uv_timer_start(&feed->news, on_news, 1, 0);
}
