#include "api/event_stream.h"

#include "api/feed.h"
#include "api/piece.h"
#include "common/log.h"
#include "common/stretto_assert.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Bytes of libmicrohttpd's buffer for each stream. Events go straight from the text that all streams share to the
 * sockets, which saves libmicrohttpd's turn, its copy and its walk over all connections. libmicrohttpd gets only the
 * bytes that a socket does not accept at once. It then waits, and cuts off clients that read nothing for a minute. With
 * TLS it gets everything, to encrypt it. So the buffer is small, and thousands of streams take little memory. */
#define BLOCK (4u << 10)

struct event_stream {
    struct feed_waiter waiter; /* must be first, since the feed hands it back */
    struct request *r;
    struct feed *feed;
    int64_t token; /* the token whose share of streams it uses */
    struct event_filter filter;
    int64_t at;          /* all events up to this id have been sent or were not wanted */
    struct piece *piece; /* the events that are being sent; NULL for a text of the stream's own */
    const char *text;
    size_t size, used;
    bool failed;
};

static void set_stream_text(struct event_stream *s, const char *text)
{
    piece_drop(s->piece);
    s->piece = NULL;
    s->text = text;
    s->size = strlen(text);
    s->used = 0;
}

/* Gets the next piece. Returns false if there is nothing to send; *more says whether there may be more behind
 * it. */
static bool load_next_piece(struct event_stream *s, bool *more)
{
    int64_t upto = feed_upto(s->feed);
    struct error err;

    if (s->at > upto) /* the stream began after this round did */
        upto = feed_newest(s->feed);
    *more = false;
    piece_drop(s->piece);
    s->piece =
        piece_read(feed_pieces(s->feed), request_store(s->r), request_now_ms(s->r), s->at, upto, &s->filter, &err);
    if (s->piece == NULL) {
        log_warn("an event stream ends: %s", err.text);
        s->failed = true;
        return true;
    }
    s->at = piece_end(s->piece);
    *more = s->at < upto;
    s->text = piece_text(s->piece, &s->size);
    s->used = 0;
    return s->size > 0;
}

/* Sends the piece. Only while the stream sleeps, when libmicrohttpd has nothing of it left. Returns false if
 * libmicrohttpd must send the rest. */
static bool send_piece_now(struct event_stream *s)
{
    int fd = s->failed ? -1 : request_socket(s->r);

    while (fd >= 0 && s->used < s->size) {
        ssize_t n = s->piece != NULL ? piece_send(s->piece, fd, s->used)
                                     : send(fd, s->text + s->used, s->size - s->used, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n <= 0)
            return false; /* libmicrohttpd will meet an error of the socket, too */
        s->used += (size_t)n;
    }
    return fd >= 0;
}

static enum feed_look on_look(struct feed_waiter *waiter)
{
    struct event_stream *s = (struct event_stream *)waiter;
    bool more = false;

    if (request_is_allowed(s->r)) {
        if (!load_next_piece(s, &more))
            return more ? FEED_AGAIN : FEED_WAITS;
        if (send_piece_now(s))
            return more ? FEED_AGAIN : FEED_TOLD;
    }
    request_go_on(s->r);
    return FEED_WENT;
}

static bool send_sign_of_life(struct feed_waiter *waiter)
{
    struct event_stream *s = (struct event_stream *)waiter;

    set_stream_text(s, ":\n\n"); /* a comment, as a sign of life */
    if (send_piece_now(s))
        return true;
    request_go_on(s->r);
    return false;
}

static void resume_stream(struct feed_waiter *waiter)
{
    request_go_on(((struct event_stream *)waiter)->r);
}

static bool is_stream_refused(struct feed_waiter *waiter)
{
    return !request_is_allowed(((struct event_stream *)waiter)->r);
}

static ssize_t give_events(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct event_stream *s = cls;
    size_t n = s->size - s->used < max ? s->size - s->used : max;

    if (feed_ending(s->feed) || !request_is_allowed(s->r))
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (s->failed)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (n == 0) {
        request_pause(s->r);
        feed_wait(s->feed, &s->waiter, s->at != feed_newest(s->feed));
        return 0;
    }
    stretto_assert(s->used + n <= s->size);
    memcpy(buf, s->text + s->used, n);
    s->used += n;
    return (ssize_t)n;
}

static void release_event_stream(void *cls)
{
    struct event_stream *s = cls;

    feed_leave(s->feed, s->token);
    piece_drop(s->piece);
    free(s);
}

void event_stream_reply(struct request *r, int64_t after, const struct event_filter *filter)
{
    struct event_stream *s;
    struct MHD_Response *response;
    struct error err;

    if (feed_join(request_config(r)->feed, request_token(r), &err) < 0) {
        request_add_header(r, "Retry-After", "10");
        request_reply_problem(r, &err);
        return;
    }
    s = xcalloc(1, sizeof *s);
    s->waiter.look = on_look;
    s->waiter.beat = send_sign_of_life;
    s->waiter.wake = resume_stream;
    s->waiter.over = is_stream_refused;
    s->r = r;
    s->feed = request_config(r)->feed;
    s->token = request_token(r);
    s->filter = *filter;
    s->at = after;
    set_stream_text(s, "retry: 1000\n\n"); /* with these bytes the headers are sent at once */
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, give_events, s, release_event_stream);
    if (response == NULL)
        release_event_stream(s);
    else /* the body must be sent without chunks, since some of it does not go through libmicrohttpd */
        MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    request_reply_response(r, 200, "text/event-stream", response);
}
