#include "api/output.h"

#include "api/problem.h"
#include "api/range.h"
#include "api/stream.h"
#include "common/below.h"
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
    output_find *find;
    struct output_place place;
    char *range; /* the Range header, or NULL */
    int fd;
    int64_t size, first, end; /* in the output */
    int64_t begins;           /* where it begins in the file */
    enum range_answer answer;
    char *head; /* the first piece of the range */
    size_t head_size;
    bool failed, missing;
    struct error err;
};

void output_place_fini(struct output_place *place)
{
    free(place->path);
    free(place->run_dir);
    free(place->archive);
    *place = (struct output_place){0};
}

/* The file belongs to the member, which may have replaced it, or a directory above, by anything. */
static int open_output_file(const struct output_place *place, struct error *err)
{
    const char *path = place->path;
    int fd = below_open_whole(place->run_dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY), saved;
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return fd;
    saved = errno;
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        error_set(err, "output_not_found", "%s is not there (yet)", path);
    else if (fd < 0)
        error_errno(err, "output_unreadable", "cannot open %s", path);
    else
        error_set(err, "output_unreadable", "%s is no regular file", path);
    if (fd >= 0) {
        close(fd);
        saved = EINVAL;
    }
    errno = saved == ENOTDIR ? ENOENT : saved;
    return -1;
}

int output_open(const struct output_place *place, int64_t *first, int64_t *end, struct error *err)
{
    int64_t size;
    int fd;

    *first = 0;
    *end = -1;
    if (place->archive == NULL)
        return open_output_file(place, err);
    fd = archive_open(place->archive, place->at, place->index, place->attempt, place->part, first, &size, err);
    if (fd < 0) {
        if (errno == ENOENT)
            errno = EIO; /* it is not there, and will not come */
        return -1;
    }
    if (size >= 0) {
        *end = *first + size;
        return fd;
    }
    close(fd); /* it was too large for the archive, or no file of ours */
    *first = 0;
    return open_output_file(place, err);
}

/* Runs on a worker thread. */
static int open_output_piece(struct opening *o)
{
    struct stat st;
    size_t want;
    ssize_t n;
    int64_t end;

    o->fd = output_open(&o->place, &o->begins, &end, &o->err);
    o->missing = o->fd < 0 && errno == ENOENT;
    if (o->fd < 0)
        return -1;
    if (end < 0 && fstat(o->fd, &st) < 0)
        return error_errno(&o->err, "output_unreadable", "cannot read %s", o->place.path);
    o->size = end < 0 ? st.st_size : end - o->begins;
    o->answer = range_parse(o->range, o->size, &o->first, &o->end);
    if (o->answer == RANGE_UNSATISFIABLE)
        return error_set(&o->err, "range_not_satisfiable", "there are only %" PRId64 " bytes", o->size);
    want = o->end - o->first < (int64_t)STREAM_CHUNK ? (size_t)(o->end - o->first) : STREAM_CHUNK;
    o->head = xcalloc(1, want + 1);
    n = pread(o->fd, o->head, want, o->begins + o->first);
    if (n < 0)
        return error_errno(&o->err, "output_unreadable", "cannot read %s", o->place.path);
    o->head_size = (size_t)n;
    return 0;
}

static void open_output_aside(uv_work_t *work)
{
    struct opening *o = work->data;

    o->failed = open_output_piece(o) < 0;
    if (o->failed && o->fd >= 0)
        close(o->fd);
}

static void reply_file(struct opening *o)
{
    struct stream *stream = stream_create(o->r, o->loop, o->fd, o->begins + o->first, o->begins + o->end);
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

    if (o->missing && o->find != NULL && o->place.archive == NULL) { /* it may just have been moved into an archive */
        o->find(o->r, &o->place);
        if (o->place.archive != NULL) {
            uv_queue_work(o->loop, &o->work, open_output_aside, after_open);
            return;
        }
    }
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
    output_place_fini(&o->place);
    free(o->range);
    free(o);
}

void output_reply(struct request *r, struct output_place place, output_find *find)
{
    struct opening *o = xcalloc(1, sizeof *o);
    const char *range = request_header(r, "Range");

    /* replies carry no validator, so that If-Range never matches */
    if (range != NULL && request_header(r, "If-Range") == NULL)
        o->range = xstrdup(range);
    o->work.data = o;
    o->loop = request_config(r)->loop;
    o->r = r;
    o->find = find;
    o->place = place;
    request_hold(r);
    uv_queue_work(o->loop, &o->work, open_output_aside, after_open);
}
