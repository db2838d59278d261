/* Avoids sending replies that a client has already (RFC 9110: ETag, If-None-Match). */
#ifndef API_ETAG_H
#define API_ETAG_H
#include "api/request.h"

/* Answers 200 with JSON, or 304 if the client has the very same. `json` is taken over. The tag is made from the text,
 * not from the last event, since rates, estimates and the counters of a training change without an event. */
void etag_reply_json(struct request *r, json_t *json);

/* Writes the tag of these bytes, W/"…". */
#define ETAG_SIZE 40
void etag_of(const char *data, size_t size, char tag[ETAG_SIZE]);

/* Returns whether the client says that it has what the tag (W/"…") names; the answer is then 304. */
bool etag_is_known(const struct request *r, const char *tag);
#endif
