/* Which members have changed their state since an event. */
#ifndef API_STATE_CHANGES_H
#define API_STATE_CHANGES_H
#include "api/request.h"
#include "daemon/store/ensemble.h"

/* Answer with the states of those that changed after the event `since`, or with "changes_not_kept". */
void state_changes_reply(struct request *r, const struct ensemble_row *ensemble, int64_t since);
#endif
