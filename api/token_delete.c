#include "api/handlers.h"
#include "api/request.h"
#include "api/token.h"
#include "common/log_changes.h"
#include "daemon/store/session.h"

#include <inttypes.h>

void token_delete(struct request *r)
{
    struct store *store = request_store(r);
    int64_t id = request_id(r, 0);
    struct token_row row;
    struct error err;
    int rc = store_token_get(store, id, &row, &err);

    if (rc == 1 && row.revoked_ms == 0) {
        row.revoked_ms = request_now_ms(r);
        if (store_token_revoke(store, id, row.revoked_ms, &err) < 0 || store_session_end_of(store, id, &err) < 0)
            rc = -1;
    }
    if (rc < 0) {
        request_reply_problem(r, &err);
    } else if (rc == 0) {
        request_reply_error(r, "token_not_found", "there is no token %" PRId64, id);
    } else {
        request_revokes(r);
        log_change(LOG_LEVEL_INFO, NULL, "token %" PRId64 " revoked", id);
        request_reply_json(r, 200, token_json(&row));
    }
}
