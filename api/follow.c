#include "api/follow.h"

#include "api/limits.h"
#include "api/shares.h"
#include "common/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK (64u << 10)
#define LOOK_MS 200 /* pause between looks at a file that has nothing new */

struct follow {
    unsigned refs; /* one each of the response, the open timer, and a read under way */
    struct request *r;
    uv_loop_t *loop;
    uv_timer_t timer;
    uv_work_t work;
    output_find *find;
    struct output_place place;
    bool (*is_over)(const struct request *r, int64_t number);
    int64_t number;
    int64_t token;   /* the token whose share it uses */
    int fd;          /* -1 while the file does not exist yet */
    int64_t at, end; /* in the file; the end is -1 if it may grow */
    char *chunk;
    size_t used, have;
    bool writer_ended; /* was known before the last read began */
    bool at_end, failed, missing;
};

/* The shares of all listeners. They belong to no api, since a reply may outlive it by one look. */
static struct shares follows = {.max = LIMIT_FOLLOWS, .what = "followed outputs"};

static void unref_follow(struct follow *f)
{
    if (--f->refs > 0)
        return;
    shares_give_back(&follows, f->token);
    if (f->fd >= 0)
        close(f->fd);
    output_place_fini(&f->place);
    free(f->chunk);
    free(f);
}

/* Runs on a worker thread. */
static void read_some(uv_work_t *work)
{
    struct follow *f = work->data;
    size_t want = CHUNK;
    struct error err;
    int64_t first;
    ssize_t n;

    f->used = f->have = 0;
    f->missing = false;
    if (f->fd < 0) {
        f->fd = output_open(&f->place, &first, &f->end, &err);
        f->missing = f->fd < 0 && errno == ENOENT;
        f->failed = f->fd < 0 && !f->missing;
        if (f->fd < 0)
            return;
        f->at += first;
    }
    if (f->end >= 0)
        want = f->at >= f->end ? 0 : f->end - f->at < CHUNK ? (size_t)(f->end - f->at) : CHUNK;
    do
        n = pread(f->fd, f->chunk, want, f->at);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        f->failed = true;
        return;
    }
    f->have = (size_t)n;
    f->at += n;
}

static void follow_read_on(struct follow *f);

static void follow_on_timer(uv_timer_t *timer)
{
    struct follow *f = timer->data;

    if (!request_is_orphan(f->r) && request_is_allowed(f->r)) {
        follow_read_on(f);
        return;
    }
    f->failed = true;
    request_go_on(f->r);
}

static void follow_after_read(uv_work_t *work, int status)
{
    struct follow *f = work->data;

    f->failed |= status != 0;
    if (f->missing && !f->failed && f->find != NULL && f->place.archive == NULL) {
        f->find(f->r, &f->place);
        if (f->place.archive != NULL) { /* it has just been moved into an archive */
            follow_read_on(f);
            unref_follow(f);
            return;
        }
    }
    f->at_end = f->have == 0 && f->writer_ended;
    if (f->have > 0 || f->at_end || f->failed || request_is_orphan(f->r))
        request_go_on(f->r);
    else
        uv_timer_start(&f->timer, follow_on_timer, LOOK_MS, 0);
    unref_follow(f);
}

/* Reads on, while the request is paused. It asks whether the writer has ended before it reads: the read then gets the
 * writer's last output. */
static void follow_read_on(struct follow *f)
{
    f->writer_ended = f->is_over(f->r, f->number);
    f->refs++;
    f->work.data = f;
    uv_queue_work(f->loop, &f->work, read_some, follow_after_read);
}

static ssize_t give_followed(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct follow *f = cls;
    size_t n = f->have - f->used < max ? f->have - f->used : max;

    if (f->failed || !request_is_allowed(f->r))
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (n > 0) {
        memcpy(buf, f->chunk + f->used, n);
        f->used += n;
        return (ssize_t)n;
    }
    if (f->at_end)
        return MHD_CONTENT_READER_END_OF_STREAM;
    request_pause(f->r);
    follow_read_on(f);
    return 0;
}

static void follow_timer_closed(uv_handle_t *handle)
{
    unref_follow(handle->data);
}

static void release_follow(void *cls)
{
    struct follow *f = cls;

    uv_close((uv_handle_t *)&f->timer, follow_timer_closed);
    unref_follow(f);
}

void follow_reply(struct request *r, struct output_place place, output_find *find, int64_t from,
                  bool (*over)(const struct request *r, int64_t number), int64_t number)
{
    struct follow *f;
    struct MHD_Response *response;
    struct error err;

    if (shares_take(&follows, request_token(r), &err) < 0) {
        output_place_fini(&place);
        request_add_header(r, "Retry-After", "10");
        request_reply_problem(r, &err);
        return;
    }
    f = xcalloc(1, sizeof *f);
    *f = (struct follow){.refs = 2,
                         .r = r,
                         .loop = request_config(r)->loop,
                         .is_over = over,
                         .number = number,
                         .token = request_token(r),
                         .fd = -1,
                         .at = from,
                         .end = -1,
                         .place = place,
                         .find = find};
    f->chunk = xcalloc(1, CHUNK);
    uv_timer_init(f->loop, &f->timer);
    f->timer.data = f;
    response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK, give_followed, f, release_follow);
    if (response == NULL)
        release_follow(f);
    request_reply_response(r, 200, "text/plain", response);
}

int follow_query(const struct request *r, int64_t *follow, int64_t *from, struct error *err)
{
    *follow = *from = 0;
    if (request_query_int(r, "follow", 0, 1, follow, err) < 0 ||
        request_query_int(r, "from", 0, INT64_MAX, from, err) < 0)
        return -1;
    if (*from > 0 && !*follow)
        return error_set(err, "query_wrong_value",
                         "query parameter \"from\" goes with follow=1; without it, ask for a Range");
    return 0;
}
