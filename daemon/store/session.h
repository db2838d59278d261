/* Sessions of web browsers, and the one-time tokens that begin them (logins). Only hashes are here. Whoever asks for
 * them, a bearer token or the user on the Unix socket, has so many at once; one more ends the oldest. */
#ifndef DAEMON_STORE_SESSION_H
#define DAEMON_STORE_SESSION_H
#include "daemon/store/token.h"

#define SESSIONS_MAX 32 /* of one asker, and as many logins */
#define SESSION_PATH_SIZE 128

struct login_row {
    char hash[65]; /* hex */
    enum token_role role;
    int64_t token;    /* that asked for it; 0: on the Unix socket */
    int64_t until_ms; /* when its session ends */
    int64_t expires_ms;
};

struct session_row {
    int64_t id;
    char hash[65];
    enum token_role role;
    int64_t token;                                /* as that of its login */
    char path[SESSION_PATH_SIZE];                 /* under which the browser sees the daemon */
    int64_t created_ms, expires_ms, last_used_ms; /* 0: never */
};

int store_login_insert(struct store *store, const struct login_row *row, struct error *err);
/* It is gone then. 1, 0 where there is none or it has expired, -1. */
int store_login_take(struct store *store, const char *hash, int64_t now_ms, struct login_row *row, struct error *err);

int store_session_insert(struct store *store, struct session_row *row, struct error *err); /* sets row->id */
/* 1 where it has not expired, 0, -1. */
int store_session_find(struct store *store, const char *hash, int64_t now_ms, struct session_row *row,
                       struct error *err);
int store_session_get(struct store *store, int64_t id, struct session_row *row,
                      struct error *err); /* expired or not: 1, 0, -1 */
/* Newest first, as store_token_each(); without those that have expired. */
int store_session_each(struct store *store, int64_t before, int limit, int64_t now_ms,
                       int (*each)(void *arg, const struct session_row *row), void *arg, struct error *err);
int store_session_touch(struct store *store, int64_t id, int64_t now_ms, struct error *err); /* it was used */

int store_session_end(struct store *store, int64_t id, struct error *err);
int store_session_end_all(struct store *store, struct error *err);               /* and all logins */
int store_session_end_of(struct store *store, int64_t token, struct error *err); /* and its logins */
int store_session_prune(struct store *store, int64_t now_ms, struct error *err); /* what has expired, logins too */
#endif
