#include "api/event_stream.h"

#include "api/event_text.h"
#include "api/feed.h"
#include "api/limits.h"
#include "common/log.h"
#include "common/timefmt.h"
#include "common/xalloc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE 64     /* events read at once */
#define WINDOW 10000 /* ids looked through at once for those of a kind */

struct event_stream {
    struct feed_waiter waiter; /* first: the feed hands it back */
    struct request *r;
    struct feed *feed;
    struct store *store;
    struct event_filter filter;
    int64_t at;       /* everything up to this id is sent, or not wanted */
    struct text text; /* the piece being sent */
    size_t used;
    int found;
    bool failed;
};

static int add(void *arg, const struct event_row *row)
{
    struct event_stream *s = arg;

    text_add(&s->text, "id: %" PRId64 "\nevent: %s\ndata: ", row->id, row->kind);
    event_text(&s->text, row);
    text_add(&s->text, "\n\n");
    s->at = row->id;
    s->found++;
    return 0;
}

/* What lies between is not to be had, or never was: say so, and go on behind it. */
static void tell_gap(struct event_stream *s, int64_t oldest)
{
    char time[TIMEFMT_SIZE];

    text_add(&s->text,
             "id: %" PRId64 "\nevent: gap\ndata: {\"id\":%" PRId64 ",\"time\":\"%s\",\"kind\":\"gap\",\"ensemble\":null,"
             "\"detail\":{\"after\":%" PRId64 ",\"oldest\":%" PRId64 "}}\n\n",
             oldest - 1, oldest - 1, timefmt_iso(time, request_now_ms(s->r)), s->at, oldest);
    s->at = oldest - 1;
}

/* Read the next piece. False where there is nothing to send; *more then says whether to look on. */
static bool fill(struct event_stream *s, bool *more)
{
    int64_t oldest, newest, upto;
    struct error err;

    s->text.size = s->used = 0;
    s->found = 0;
    newest = upto = feed_newest(s->feed);
    *more = false;
    if (store_event_bounds(s->store, &oldest, &(int64_t){0}, &err) < 0)
        goto fail;
    if (oldest > newest + 1) /* what is not on disk yet is not there */
        oldest = newest + 1;
    if (s->at < oldest - 1)
        tell_gap(s, oldest);
    else if (s->at > newest)
        tell_gap(s, newest + 1);
    if (s->filter.kind != NULL && upto > s->at + WINDOW)
        upto = s->at + WINDOW;
    if (store_event_each(s->store, s->at, upto, &s->filter, PIECE, add, s, &err) < 0)
        goto fail;
    if (s->found < PIECE)
        s->at = upto;
    *more = s->at < newest;
    return s->text.size > 0;
fail:
    log_warn("an event stream ends: %s", err.text);
    s->text.size = 0;
    s->failed = true;
    return true;
}

static enum feed_look on_look(struct feed_waiter *waiter)
{
    struct event_stream *s = (struct event_stream *)waiter;
    bool more;

    if (!fill(s, &more))
        return more ? FEED_AGAIN : FEED_WAITS;
    request_go_on(s->r);
    return FEED_WENT;
}

static void on_wake(struct feed_waiter *waiter)
{
    struct event_stream *s = (struct event_stream *)waiter;

    s->text.size = s->used = 0;
    text_add(&s->text, ":\n\n"); /* a comment: still there */
    request_go_on(s->r);
}

static ssize_t give(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct event_stream *s = cls;
    bool more = false;
    size_t n;

    if (feed_ending(s->feed))
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (s->used == s->text.size && !s->failed && !fill(s, &more)) {
        request_pause(s->r);
        feed_wait(s->feed, &s->waiter, more);
        return 0;
    }
    if (s->failed)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    n = s->text.size - s->used < max ? s->text.size - s->used : max;
    memcpy(buf, s->text.data + s->used, n);
    s->used += n;
    return (ssize_t)n;
}

static void release(void *cls)
{
    struct event_stream *s = cls;

    feed_leave(s->feed);
    free(s->text.data);
    free(s);
}

void event_stream_reply(struct request *r, int64_t after, const struct event_filter *filter)
{
    struct event_stream *s;
    struct MHD_Response *response;

    if (!feed_join(request_config(r)->feed)) {
        request_add_header(r, "Retry-After", "10");
        request_reply_error(r, "busy", "%u event streams are open already; close some, or try again later",
                            LIMIT_STREAMS);
        return;
    }
    s = xcalloc(1, sizeof *s);
    s->waiter.look = on_look;
    s->waiter.wake = on_wake;
    s->r = r;
    s->feed = request_config(r)->feed;
    s->store = request_store(r);
    s->filter = *filter;
    s->at = after;
    text_add(&s->text, "retry: 1000\n\n"); /* the first bytes carry the headers with them */
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16u << 10, give, s, release);
    if (response == NULL)
        release(s);
    request_reply_response(r, 200, "text/event-stream", response);
}
