#include "api/output.h"

#include "api/problem.h"
#include "api/range.h"
#include "api/stream.h"
#include "common/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct opening {
    uv_work_t work;
    uv_loop_t *loop;
    struct request *r;
    char *path;
    char *range; /* the Range header, or NULL */
    int fd;
    int64_t size, first, end;
    enum range_answer answer;
    char *head; /* the first piece of the range */
    size_t head_size;
    bool failed;
    struct error err;
};

/* Runs on a worker thread. The file belongs to the member, which may have replaced it by anything. */
static int open_file(struct opening *o)
{
    struct stat st;
    size_t want;
    ssize_t n;

    o->fd = open(o->path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (o->fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return error_set(&o->err, "output_not_found", "%s is not there (yet)", o->path);
    if (o->fd < 0 || fstat(o->fd, &st) < 0)
        return error_errno(&o->err, "output_unreadable", "cannot open %s", o->path);
    if (!S_ISREG(st.st_mode))
        return error_set(&o->err, "output_unreadable", "%s is no regular file", o->path);
    o->size = st.st_size;
    o->answer = range_parse(o->range, o->size, &o->first, &o->end);
    if (o->answer == RANGE_UNSATISFIABLE)
        return error_set(&o->err, "range_not_satisfiable", "there are only %" PRId64 " bytes", o->size);
    want = o->end - o->first < (int64_t)STREAM_CHUNK ? (size_t)(o->end - o->first) : STREAM_CHUNK;
    o->head = xcalloc(1, want + 1);
    n = pread(o->fd, o->head, want, o->first);
    if (n < 0)
        return error_errno(&o->err, "output_unreadable", "cannot read %s", o->path);
    o->head_size = (size_t)n;
    return 0;
}

static void on_worker(uv_work_t *work)
{
    struct opening *o = work->data;

    o->failed = open_file(o) < 0;
    if (o->failed && o->fd >= 0)
        close(o->fd);
}

static void reply_file(struct opening *o)
{
    struct stream *stream = stream_create(o->r, o->loop, o->fd, o->first, o->end);
    char text[96];

    stream_prime(stream, o->head, o->head_size);
    request_add_header(o->r, "Accept-Ranges", "bytes");
    if (o->answer == RANGE_PART) {
        snprintf(text, sizeof text, "bytes %" PRId64 "-%" PRId64 "/%" PRId64, o->first, o->end - 1, o->size);
        request_add_header(o->r, "Content-Range", text);
    }
    request_reply_response(o->r, o->answer == RANGE_PART ? 206 : 200, "text/plain", stream_response(stream));
}

static void after_open(uv_work_t *work, int status)
{
    struct opening *o = work->data;
    char text[64];

    if (o->failed) {
        if (o->answer == RANGE_UNSATISFIABLE) {
            snprintf(text, sizeof text, "bytes */%" PRId64, o->size);
            request_add_header(o->r, "Content-Range", text);
        }
        request_reply_problem(o->r, &o->err);
    } else {
        reply_file(o);
    }
    free(o->head);
    free(o->path);
    free(o->range);
    free(o);
}

void output_reply(struct request *r, char *dir, const char *name)
{
    struct opening *o = xcalloc(1, sizeof *o);
    const char *range = request_header(r, "Range");

    /* replies carry no validator, so that If-Range never matches */
    if (range != NULL && request_header(r, "If-Range") == NULL)
        o->range = xstrdup(range);
    o->work.data = o;
    o->loop = request_config(r)->loop;
    o->r = r;
    o->path = xasprintf("%s/%s", dir, name);
    free(dir);
    request_hold(r);
    uv_queue_work(o->loop, &o->work, on_worker, after_open);
}
