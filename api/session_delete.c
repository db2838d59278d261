#include "api/handlers.h"
#include "api/request.h"
#include "api/session.h"
#include "common/log_changes.h"

#include <inttypes.h>

void session_delete(struct request *r)
{
    struct store *store = request_store(r);
    int64_t id = request_id(r, 0);
    struct session_row row;
    struct error err;
    int rc = store_session_get(store, id, &row, &err);

    if (rc == 1 && store_session_end(store, id, &err) < 0)
        rc = -1;
    if (rc < 0) {
        request_reply_problem(r, &err);
    } else if (rc == 0) {
        request_reply_error(r, "session_not_found", "there is no session %" PRId64, id);
    } else {
        request_revokes(r);
        log_change(LOG_LEVEL_INFO, NULL, "session %" PRId64 " of a browser has ended: revoked", id);
        request_reply_json(r, 200, session_json(&row));
    }
}
