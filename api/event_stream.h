/* Sends events as they happen (server-sent events). Each client reads from the store at its own pace, so that events
 * that it has not taken never queue in memory. */
#ifndef API_EVENT_STREAM_H
#define API_EVENT_STREAM_H
#include "api/request.h"
#include "daemon/store/event.h"

/* Answers with the events after id `after`. The filter's kind must live as long as the request. */
void event_stream_reply(struct request *r, int64_t after, const struct event_filter *filter);
#endif
