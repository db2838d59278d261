#include "api/event_stream.h"

#include "api/feed.h"
#include "api/limits.h"
#include "api/piece.h"
#include "common/log.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct event_stream {
    struct feed_waiter waiter; /* first: the feed hands it back */
    struct request *r;
    struct feed *feed;
    struct event_filter filter;
    int64_t at;          /* everything up to this id is sent, or not wanted */
    struct piece *piece; /* what is being sent; NULL where it is a word of the stream's own */
    const char *text;
    size_t size, used;
    bool failed;
};

static void say(struct event_stream *s, const char *text)
{
    s->text = text;
    s->size = strlen(text);
    s->used = 0;
}

/* Get the next piece. False where there is nothing to send; *more then says whether to look on. */
static bool fill(struct event_stream *s, bool *more)
{
    int64_t newest = feed_newest(s->feed);
    struct error err;

    *more = false;
    piece_drop(s->piece);
    s->piece = piece_read(feed_piece(s->feed), request_store(s->r), request_now_ms(s->r), s->at, newest, &s->filter,
                          &err);
    if (s->piece == NULL) {
        log_warn("an event stream ends: %s", err.text);
        s->failed = true;
        return true;
    }
    s->at = piece_end(s->piece);
    *more = s->at < newest;
    s->text = piece_text(s->piece, &s->size);
    s->used = 0;
    return s->size > 0;
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

    say(s, ":\n\n"); /* a comment: still there */
    request_go_on(s->r);
}

static bool is_over(struct feed_waiter *waiter)
{
    return !request_is_allowed(((struct event_stream *)waiter)->r);
}

static ssize_t give(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct event_stream *s = cls;
    bool more = false;
    size_t n;

    if (feed_ending(s->feed) || !request_is_allowed(s->r))
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (s->used == s->size && !s->failed && !fill(s, &more)) {
        request_pause(s->r);
        feed_wait(s->feed, &s->waiter, more);
        return 0;
    }
    if (s->failed)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    n = s->size - s->used < max ? s->size - s->used : max;
    memcpy(buf, s->text + s->used, n);
    s->used += n;
    return (ssize_t)n;
}

static void release(void *cls)
{
    struct event_stream *s = cls;

    feed_leave(s->feed);
    piece_drop(s->piece);
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
    s->waiter.over = is_over;
    s->r = r;
    s->feed = request_config(r)->feed;
    s->filter = *filter;
    s->at = after;
    say(s, "retry: 1000\n\n"); /* the first bytes carry the headers with them */
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16u << 10, give, s, release);
    if (response == NULL)
        release(s);
    request_reply_response(r, 200, "text/event-stream", response);
}
