#include "api/handlers.h"
#include "api/request.h"
#include "api/session.h"
#include "api/session_wish.h"
#include "common/jsonx.h"
#include "common/log_changes.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* Reads the path under which the browser sees the daemon. Behind a proxy that serves it below a path, only the browser
 * knows it. */
static int read_path(const json_t *json, struct session_row *row, struct error *err)
{
    const char *path = "/";

    if (jsonx_string(json, "", "path", JSONX_OPTIONAL, &path, err) < 0)
        return -1;
    if (path[0] != '/' || path[strlen(path) - 1] != '/' || strlen(path) >= sizeof row->path)
        return error_at(err, "spec_impossible_value", "/path",
                        "a path begins and ends with a slash, and has at most %zu bytes", sizeof row->path - 1);
    for (const char *c = path; *c != '\0'; c++) {
        if (*c <= ' ' || *c > '~' || strchr(";,\"\\", *c) != NULL)
            return error_at(err, "spec_impossible_value", "/path", "a byte of the path cannot be part of a cookie's");
    }
    strcpy(row->path, path);
    return 0;
}

/* Takes the login. Returns -1 with "login_invalid", which the caller must count as a failed try. */
static int take_login(struct request *r, const char *login, struct session_row *row, struct error *err)
{
    struct login_row found;
    char hash[65];
    int rc;

    token_hash(login, hash);
    rc = store_login_take(request_store(r), hash, request_now_ms(r), &found, err);
    if (rc == 0)
        return error_set(
            err, "login_invalid",
            "this link was used before, or it is older than five minutes: `stretto dashboard` prints another");
    row->role = found.role;
    row->token = found.token;
    row->expires_ms = found.until_ms;
    return rc < 0 ? -1 : 0;
}

static int by_login(struct request *r, const json_t *json, struct session_row *row, struct error *err)
{
    static const char *const known[] = {"login", "path", NULL};
    const char *login = "";

    if (jsonx_string(json, "", "login", JSONX_REQUIRED, &login, err) < 0 || jsonx_only(json, "", known, err) < 0 ||
        read_path(json, row, err) < 0)
        return -1;
    return take_login(r, login, row, err);
}

static int by_token(struct request *r, const json_t *json, struct session_row *row, struct error *err)
{
    static const char *const known[] = {"role", "expires", "path", NULL};
    struct session_wish wish;
    struct caller bearer;

    if (request_bearer(r, &bearer, err) < 0 || session_wish_read(json, &bearer, request_now_ms(r), &wish, err) < 0 ||
        jsonx_only(json, "", known, err) < 0 || read_path(json, row, err) < 0)
        return -1;
    row->role = wish.role;
    row->token = bearer.token;
    row->expires_ms = wish.until_ms;
    return 0;
}

static int insert_session(struct request *r, struct session_row *row, const struct session_key *key, struct error *err)
{
    row->created_ms = request_now_ms(r);
    session_hash(key, row->hash);
    if (store_session_insert(request_store(r), row, err) < 0)
        return -1;
    if (store_changes(request_store(r)) > 0)
        request_revokes(r); /* the oldest session has ended */
    return 0;
}

/* Begins the session. This reply is the only one that ever holds its two secrets: one for the page, and one that the
 * page cannot read. */
static void grant_session(struct request *r, struct session_row *row)
{
    struct session_key key;
    struct error err;
    char cookie[SESSION_COOKIE_SIZE], place[SESSION_PLACE_SIZE + 4];
    json_t *json;

    session_key_make(&key);
    if (insert_session(r, row, &key, &err) < 0) {
        request_reply_problem(r, &err);
    } else {
        session_cookie(cookie, row, &key, request_is_secure(r));
        snprintf(place, sizeof place, "s/%s/", key.place);
        json = session_json(row);
        json_object_set_new(json, "place", json_string(place));
        log_change(LOG_LEVEL_INFO, NULL, "session %" PRId64 " of a browser has begun: %s", row->id,
                   token_role_name(row->role));
        request_add_header(r, "Set-Cookie", cookie);
        request_reply_json(r, 201, json);
        sodium_memzero(cookie, sizeof cookie);
    }
    sodium_memzero(&key, sizeof key);
}

void sessions_post(struct request *r)
{
    json_t *json = request_json(r);
    struct session_row row = {0};
    struct error err;
    int rc;

    if (json == NULL)
        return;
    if (!json_is_object(json))
        rc = error_at(&err, "spec_wrong_type", "", "a session is begun by an object");
    else
        rc = request_header(r, "Authorization") != NULL ? by_token(r, json, &row, &err) : by_login(r, json, &row, &err);
    json_decref(json);
    if (rc == 0)
        grant_session(r, &row);
    else if (strcmp(err.code, "login_invalid") == 0)
        request_refuse(r, &err);
    else
        request_reply_problem(r, &err);
}
