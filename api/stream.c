#include "api/stream.h"

#include "common/stretto_assert.h"
#include "common/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct stream {
    unsigned refs; /* one of the response, and one of a read under way */
    struct request *r;
    uv_loop_t *loop;
    uv_work_t work;
    int fd;
    int64_t size;      /* bytes in all */
    int64_t at;        /* place in the file of the next byte to read */
    int64_t left;      /* bytes still to be read */
    char *chunk;       /* bytes that are read and not sent yet */
    size_t used, have; /* bytes of the chunk that are sent, and that there are */
    bool failed;
};

struct stream *stream_create(struct request *r, uv_loop_t *loop, int fd, int64_t first, int64_t end)
{
    struct stream *stream = xcalloc(1, sizeof *stream);

    *stream = (struct stream){.refs = 1, .r = r, .loop = loop, .fd = fd};
    stream->size = stream->left = end - first;
    stream->at = first;
    stream->chunk = xcalloc(1, STREAM_CHUNK);
    return stream;
}

static void unref_stream(struct stream *stream)
{
    stretto_assert(stream->refs > 0);
    if (--stream->refs > 0)
        return;
    close(stream->fd);
    free(stream->chunk);
    free(stream);
}

static void stream_advance(struct stream *stream, size_t n)
{
    stream->used = 0;
    stream->have = (int64_t)n < stream->left ? n : (size_t)stream->left;
    stream->at += (int64_t)stream->have;
    stream->left -= (int64_t)stream->have;
    stretto_assert(stream->left >= 0);
}

void stream_prime(struct stream *stream, const void *data, size_t size)
{
    stretto_assert(size <= STREAM_CHUNK);
    memcpy(stream->chunk, data, size);
    stream_advance(stream, size);
}

static void read_stream_chunk(uv_work_t *work)
{
    struct stream *stream = work->data;
    size_t want = stream->left < (int64_t)STREAM_CHUNK ? (size_t)stream->left : STREAM_CHUNK;
    ssize_t n;

    do
        n = pread(stream->fd, stream->chunk, want, stream->at);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        stream->failed = true;
    else
        stream_advance(stream, (size_t)n);
}

static void chunk_read(uv_work_t *work, int status)
{
    struct stream *stream = work->data;

    stream->failed |= status != 0;
    request_go_on(stream->r);
    unref_stream(stream);
}

static ssize_t give_chunk(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct stream *stream = cls;
    size_t n = stream->have - stream->used;

    if (!request_is_allowed(stream->r))
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (n > 0) {
        n = n < max ? n : max;
        memcpy(buf, stream->chunk + stream->used, n);
        stream->used += n;
        return (ssize_t)n;
    }
    if (stream->failed)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (stream->left == 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    stream->refs++;
    request_pause(stream->r);
    stream->work.data = stream;
    uv_queue_work(stream->loop, &stream->work, read_stream_chunk, chunk_read);
    return 0;
}

static void release_stream(void *cls)
{
    unref_stream(cls);
}

struct MHD_Response *stream_response(struct stream *stream)
{
    struct MHD_Response *response =
        MHD_create_response_from_callback((uint64_t)stream->size, 64u << 10, give_chunk, stream, release_stream);

    if (response == NULL)
        unref_stream(stream);
    return response;
}
