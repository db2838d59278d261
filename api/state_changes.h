/* Reports which members have changed their state since an event. */
#ifndef API_STATE_CHANGES_H
#define API_STATE_CHANGES_H
#include "api/request.h"
#include "daemon/store/ensemble.h"

/* Answers with the states of members that changed after the event `since`. Returns -1 with err, such as
 * "changes_not_kept", without an answer. */
int state_changes_reply(struct request *r, const struct ensemble_row *ensemble, int64_t since, struct error *err);
#endif
