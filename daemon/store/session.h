/* Sessions of web browsers, and the one-time tokens (logins) that begin them. Only their hashes are stored. Each bearer
 * token, and the user on the Unix socket, has a limited number; one more ends the oldest. */
#ifndef DAEMON_STORE_SESSION_H
#define DAEMON_STORE_SESSION_H
#include "daemon/store/token.h"

#define SESSIONS_MAX 32 /* sessions, and as many logins, of one bearer token or of the Unix socket */
#define SESSION_PATH_SIZE 128

struct login_row {
    char hash[65]; /* hex */
    enum token_role role;
    int64_t token;    /* the bearer token that asked for it; 0 for the Unix socket */
    int64_t until_ms; /* when the session that it begins ends */
    int64_t expires_ms;
};

struct session_row {
    int64_t id;
    char hash[65];
    enum token_role role;
    int64_t token;                                /* as in its login */
    char path[SESSION_PATH_SIZE];                 /* the path under which the browser sees the daemon */
    int64_t created_ms, expires_ms, last_used_ms; /* last_used_ms is 0 if it was never used */
};

int store_login_insert(struct store *store, const struct login_row *row, struct error *err);
/* Takes a login, which is removed. Returns 1, 0 if there is none or it has expired, -1 on error. */
int store_login_take(struct store *store, const char *hash, int64_t now_ms, struct login_row *row, struct error *err);

int store_session_insert(struct store *store, struct session_row *row, struct error *err); /* sets row->id */
/* Finds a session that has not expired. Returns 1 if there is one, 0 if not, -1 on error. */
int store_session_find(struct store *store, const char *hash, int64_t now_ms, struct session_row *row,
                       struct error *err);
int store_session_get(struct store *store, int64_t id, struct session_row *row,
                      struct error *err); /* finds expired ones, too: 1, 0, -1 */
/* Reads sessions that have not expired, newest first, as store_token_each() does. */
int store_session_each(struct store *store, int64_t before, int limit, int64_t now_ms,
                       int (*each)(void *arg, const struct session_row *row), void *arg, struct error *err);
int store_session_touch(struct store *store, int64_t id, int64_t now_ms, struct error *err); /* sets last_used_ms */

int store_session_end(struct store *store, int64_t id, struct error *err);
int store_session_end_all(struct store *store, struct error *err);               /* ends all logins, too */
int store_session_end_of(struct store *store, int64_t token, struct error *err); /* ends the token's logins, too */
/* removes expired sessions and logins */
int store_session_prune(struct store *store, int64_t now_ms, struct error *err);
#endif
