#include "api/handlers.h"
#include "api/request.h"
#include "api/session.h"
#include "common/log_changes.h"

#include <inttypes.h>
#include <string.h>

/* Finds the caller's session. Returns false after having answered. */
static bool find_session_of_caller(struct request *r, struct session_row *row)
{
    int64_t id = request_caller(r)->session;
    struct error err;
    int rc = id != 0 ? store_session_get(request_store(r), id, row, &err) : 0;

    if (rc < 0)
        request_reply_problem(r, &err);
    else if (rc == 0)
        request_reply_error(r, "session_not_found", "this request belongs to no session");
    return rc == 1;
}

void session_current_get(struct request *r)
{
    struct session_row row;

    if (find_session_of_caller(r, &row))
        request_reply_json(r, 200, session_json(&row));
}

/* Ends the session. The reply makes the browser forget its cookie, which is useless now. */
void session_current_delete(struct request *r)
{
    struct session_key key = {0};
    char cookie[SESSION_COOKIE_SIZE];
    struct session_row row;
    struct error err;

    if (!find_session_of_caller(r, &row))
        return;
    if (store_session_end(request_store(r), row.id, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    request_revokes(r);
    strcpy(key.place, request_place(r));
    session_cookie(cookie, &row, &key, request_is_secure(r));
    request_add_header(r, "Set-Cookie", cookie);
    log_change(LOG_LEVEL_INFO, NULL, "session %" PRId64 " of a browser has ended: logged out", row.id);
    request_reply_json(r, 200, session_json(&row));
}
