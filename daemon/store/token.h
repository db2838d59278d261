/* Bearer tokens, which let clients call over TCP. Only their hashes are stored. A revoked token stays, so that the list
 * shows it. */
#ifndef DAEMON_STORE_TOKEN_H
#define DAEMON_STORE_TOKEN_H
#include "daemon/store/store.h"

/* Each role may do what those before it may. */
enum token_role { TOKEN_READER, TOKEN_OPERATOR, TOKEN_ADMIN, TOKEN_ROLE_COUNT };

struct token_row {
    int64_t id;
    char hash[65]; /* hex */
    enum token_role role;
    char label[201]; /* "" for none */
    int64_t created_ms;
    int64_t expires_ms, revoked_ms, last_used_ms; /* 0 for never */
};

const char *token_role_name(enum token_role role);
int token_role_parse(const char *name, enum token_role *role); /* 0, or -1 if there is no such role */

int store_token_insert(struct store *store, struct token_row *row, struct error *err);          /* sets row->id */
int store_token_get(struct store *store, int64_t id, struct token_row *row, struct error *err); /* 1, 0 if none, -1 */
/* Reads at most `limit` tokens with an id below `before` (0 for all), newest first. */
int store_token_each(struct store *store, int64_t before, int limit,
                     int (*each)(void *arg, const struct token_row *row), void *arg, struct error *err);
/* Makes a token useless from now on. A token that is revoked already keeps the time of its revocation. */
int store_token_revoke(struct store *store, int64_t id, int64_t now_ms, struct error *err);
int store_token_touch(struct store *store, int64_t id, int64_t now_ms, struct error *err); /* sets last_used_ms */
#endif
