/* Which members have changed their state since an event. */
#ifndef API_STATE_CHANGES_H
#define API_STATE_CHANGES_H
#include "api/request.h"
#include "daemon/store/ensemble.h"

/* Answer with the states of those that changed after the event `since`; -1 with err, such as "changes_not_kept", and nothing answered. */
int state_changes_reply(struct request *r, const struct ensemble_row *ensemble, int64_t since, struct error *err);
#endif
