/* Sends a part of a file as the body of a reply, in bounded memory. The file may be on a parallel file system that
 * hangs, so that worker threads read it while the connection waits. */
#ifndef API_STREAM_H
#define API_STREAM_H
#include "api/request.h"

#define STREAM_CHUNK (256u << 10)

struct stream;

/* Makes a stream of the bytes from `first` up to `end`. `fd` is taken over. */
struct stream *stream_create(struct request *r, uv_loop_t *loop, int fd, int64_t first, int64_t end);

/* Returns the response, and takes the stream over. If the file has become shorter, the connection ends. */
struct MHD_Response *stream_response(struct stream *stream);

/* Gives the stream its first piece, which was read already: at most STREAM_CHUNK bytes from `first` on. */
void stream_prime(struct stream *stream, const void *data, size_t size);
#endif
