/* A part of a file as the body of a reply, in bounded memory. The file may lie on a parallel file system that hangs:
 * it is read on worker threads, and the connection waits meanwhile. */
#ifndef API_STREAM_H
#define API_STREAM_H
#include "api/request.h"

#define STREAM_CHUNK (256u << 10)

struct stream;

/* `fd` is taken over. Sends bytes from `first` up to `end`. */
struct stream *stream_create(struct request *r, uv_loop_t *loop, int fd, int64_t first, int64_t end);

/* The response; takes the stream over. A file that has become shorter ends the connection. */
struct MHD_Response *stream_response(struct stream *stream);

/* The first piece, already read: at most STREAM_CHUNK bytes from `first` on. */
void stream_prime(struct stream *stream, const void *data, size_t size);
#endif
