/* Bearer tokens: who may call over TCP. Only the hash of a token is here. A revoked one stays, so that the list tells. */
#ifndef DAEMON_STORE_TOKEN_H
#define DAEMON_STORE_TOKEN_H
#include "daemon/store/store.h"

/* Each may do what those before it may. */
enum token_role { TOKEN_READER, TOKEN_OPERATOR, TOKEN_ADMIN, TOKEN_ROLE_COUNT };

struct token_row {
    int64_t id;
    char hash[65]; /* hex */
    enum token_role role;
    char label[201]; /* "" none */
    int64_t created_ms;
    int64_t expires_ms, revoked_ms, last_used_ms; /* 0: never */
};

const char *token_role_name(enum token_role role);
int token_role_parse(const char *name, enum token_role *role); /* 0, or -1 for a word that is none */

int store_token_insert(struct store *store, struct token_row *row, struct error *err); /* sets row->id */
int store_token_get(struct store *store, int64_t id, struct token_row *row, struct error *err); /* 1 found, 0, -1 */
/* Newest first, at most `limit`, those below `before` (0: from the newest on). */
int store_token_each(struct store *store, int64_t before, int limit,
                     int (*each)(void *arg, const struct token_row *row), void *arg, struct error *err);
/* From now on it is of no use. The time of a former revocation stays. */
int store_token_revoke(struct store *store, int64_t id, int64_t now_ms, struct error *err);
int store_token_touch(struct store *store, int64_t id, int64_t now_ms, struct error *err); /* it was used */
#endif
