#include "api/handlers.h"
#include "api/request.h"
#include "common/log_changes.h"
#include "daemon/store/session.h"

#include <inttypes.h>

/* Ends all sessions. Links that were printed but not used are useless from then on, too. */
void sessions_delete(struct request *r)
{
    struct error err;
    int64_t n;

    if (store_session_end_all(request_store(r), &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    n = store_changes(request_store(r));
    request_revokes(r);
    log_change(LOG_LEVEL_INFO, NULL, "all sessions of browsers have ended: revoked (%" PRId64 ")", n);
    request_reply_json(r, 200, json_pack("{s:I}", "ended", (json_int_t)n));
}
