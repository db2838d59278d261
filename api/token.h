/* Bearer tokens: "stretto_ID_SECRET", the secret 256 random bits. The id finds the row; what the row holds is a hash of
 * the secret, which tells a thief of the database nothing. */
#ifndef API_TOKEN_H
#define API_TOKEN_H
#include "daemon/store/token.h"

#include <jansson.h>

#define TOKEN_SIZE 96 /* with the NUL */

#define TOKEN_SECRET_SIZE 44 /* with the NUL */

/* A new secret. The token is made of it once the id is known. */
void token_secret(char secret[TOKEN_SECRET_SIZE]);
void token_hash(const char *secret, char hash[65]);
void token_spell(int64_t id, const char *secret, char token[TOKEN_SIZE]);

/* Take apart. -1 where it cannot be a token. */
int token_parse(const char *token, int64_t *id, char secret[TOKEN_SECRET_SIZE]);

/* 1: the row is what the token stands for, found in a time that does not depend on how much of it was right; whether
 * it is still good is the caller's question. 0: there is none. -1 error. */
int token_find(struct store *store, const char *token, struct token_row *row, struct error *err);

/* The token as the API shows it, without its secret. */
json_t *token_json(const struct token_row *row);
#endif
