#include "api/handlers.h"
#include "api/request.h"
#include "api/session_wish.h"
#include "api/token.h"
#include "api/value.h"
#include "common/jsonx.h"
#include "daemon/store/session.h"

#include <sodium.h>

#define LOGIN_MS (INT64_C(5) * 60 * 1000)

static int read_login_wish(struct request *r, const json_t *json, struct session_wish *wish, struct error *err)
{
    static const char *const known[] = {"role", "expires", NULL};

    if (request_caller(r)->session != 0)
        return error_set(err, "role_insufficient",
                         "a session begins no other one: that takes a token, or the Unix socket");
    if (session_wish_read(json, request_caller(r), request_now_ms(r), wish, err) < 0)
        return -1;
    return jsonx_only(json, "", known, err);
}

/* Makes a login. This reply is the only one that ever holds the one-time token. */
static void make_login(struct request *r, const struct session_wish *wish)
{
    struct login_row row = {.role = wish->role,
                            .token = request_token(r),
                            .until_ms = wish->until_ms,
                            .expires_ms = request_now_ms(r) + LOGIN_MS};
    char secret[TOKEN_SECRET_SIZE];
    struct error err;

    token_secret(secret);
    token_hash(secret, row.hash);
    if (store_login_insert(request_store(r), &row, &err) < 0)
        request_reply_problem(r, &err);
    else
        request_reply_json(r, 201,
                           json_pack("{s:s, s:s, s:o, s:o}", "login", secret, "role", token_role_name(row.role),
                                     "expires", value_time(row.expires_ms), "session_expires",
                                     value_time(row.until_ms)));
    sodium_memzero(secret, sizeof secret);
}

void logins_post(struct request *r)
{
    struct session_wish wish;
    struct error err;
    json_t *json;
    size_t size;

    request_body(r, &size);
    json = size == 0 ? json_object() : request_json(r);
    if (json == NULL)
        return;
    if (read_login_wish(r, json, &wish, &err) < 0)
        request_reply_problem(r, &err);
    else
        make_login(r, &wish);
    json_decref(json);
}
