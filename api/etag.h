/* Replies that a client has already (RFC 9110: ETag, If-None-Match). */
#ifndef API_ETAG_H
#define API_ETAG_H
#include "api/request.h"

/* Answer 200 with JSON, or 304 where the client says that it has the very same. `json` is taken over. The tag is made of
 * the text, not of the last event: rates, estimates and the counters of a training change without one. */
void etag_reply_json(struct request *r, json_t *json);

/* The tag of these bytes, W/"…". */
#define ETAG_SIZE 40
void etag_of(const char *data, size_t size, char tag[ETAG_SIZE]);

/* Returns true where the client says that it has what the tag (W/"…") names: the answer is then 304. */
bool etag_is_known(const struct request *r, const char *tag);
#endif
