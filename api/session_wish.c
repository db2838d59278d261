#include "api/session_wish.h"

#include "common/jsonx.h"

#define HOUR_MS (INT64_C(3600) * 1000)
#define USUAL_MS (12 * HOUR_MS)
#define MAX_MS (30 * 24 * HOUR_MS)

int session_wish_read(const json_t *json, const struct caller *caller, int64_t now_ms, struct session_wish *wish,
                      struct error *err)
{
    int64_t lasts_ms = USUAL_MS;
    const char *role = "reader";

    if (!json_is_object(json))
        return error_at(err, "spec_wrong_type", "", "a session is asked for by an object");
    if (jsonx_string(json, "", "role", JSONX_OPTIONAL, &role, err) < 0 ||
        jsonx_duration(json, "", "expires", JSONX_OPTIONAL, 1000, &lasts_ms, err) < 0)
        return -1;
    if (token_role_parse(role, &wish->role) < 0 || wish->role == TOKEN_ADMIN)
        return error_at(err, "spec_impossible_value", "/role", "\"%.40s\" is no role of a session: reader or operator",
                        role);
    if (lasts_ms > MAX_MS)
        return error_at(err, "spec_impossible_value", "/expires", "a session lasts 30 days at most");
    if (wish->role > caller->role)
        return error_set(err, "role_insufficient", "token %lld has the role %s, and no session can have more",
                         (long long)caller->token, token_role_name(caller->role));
    wish->until_ms = now_ms + lasts_ms;
    if (caller->expires_ms != 0 && caller->expires_ms < wish->until_ms)
        wish->until_ms = caller->expires_ms;
    return 0;
}
