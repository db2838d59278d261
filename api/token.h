/* Bearer tokens: "stretto_ID_SECRET", in which the secret has 256 random bits. The row of the id has only a hash of the
 * secret, which is of no use to a thief of the database. */
#ifndef API_TOKEN_H
#define API_TOKEN_H
#include "daemon/store/token.h"

#include <jansson.h>

#define TOKEN_SIZE 96 /* bytes, with the NUL */

#define TOKEN_SECRET_SIZE 44 /* bytes, with the NUL */

/* Draws a new secret. The token is made of it once the id is known. */
void token_secret(char secret[TOKEN_SECRET_SIZE]);
void token_hash(const char *secret, char hash[65]);
void token_spell(int64_t id, const char *secret, char token[TOKEN_SIZE]);

/* Takes a token apart. Returns -1 if it cannot be one. */
int token_parse(const char *token, int64_t *id, char secret[TOKEN_SECRET_SIZE]);

/* Finds the row of a token, in a time that does not depend on how much of it was right. Returns 1, 0 if there is none,
 * -1 on error. The caller must check whether the token has expired or was revoked. */
int token_find(struct store *store, const char *token, struct token_row *row, struct error *err);

/* Returns the token as the API shows it, without its secret. */
json_t *token_json(const struct token_row *row);
#endif
