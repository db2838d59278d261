#include "api/token.h"

#include "api/value.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "stretto_"
#define ALPHABET "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

void token_secret(char secret[TOKEN_SECRET_SIZE])
{
    unsigned char random[32];

    randombytes_buf(random, sizeof random);
    sodium_bin2base64(secret, TOKEN_SECRET_SIZE, random, sizeof random, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(random, sizeof random);
}

/* A fast hash is enough, since nobody can try 2^256 secrets. */
void token_hash(const char *secret, char hash[65])
{
    unsigned char digest[32];

    crypto_generichash(digest, sizeof digest, (const unsigned char *)secret, strlen(secret), NULL, 0);
    sodium_bin2hex(hash, 65, digest, sizeof digest);
}

void token_spell(int64_t id, const char *secret, char token[TOKEN_SIZE])
{
    snprintf(token, TOKEN_SIZE, PREFIX "%" PRId64 "_%s", id, secret);
}

int token_parse(const char *token, int64_t *id, char secret[TOKEN_SECRET_SIZE])
{
    char *end;

    if (strncmp(token, PREFIX, sizeof PREFIX - 1) != 0)
        return -1;
    token += sizeof PREFIX - 1;
    if (strspn(token, "0123456789") == 0)
        return -1;
    errno = 0;
    *id = strtoll(token, &end, 10);
    if (errno != 0 || *end++ != '_' || strlen(end) != TOKEN_SECRET_SIZE - 1 || end[strspn(end, ALPHABET)] != '\0')
        return -1;
    memcpy(secret, end, TOKEN_SECRET_SIZE);
    return 0;
}

int token_find(struct store *store, const char *token, struct token_row *row, struct error *err)
{
    char secret[TOKEN_SECRET_SIZE], hash[65];
    int64_t id;
    int rc;

    if (token_parse(token, &id, secret) < 0)
        return 0;
    token_hash(secret, hash);
    sodium_memzero(secret, sizeof secret);
    rc = store_token_get(store, id, row, err);
    if (rc == 1 && sodium_memcmp(hash, row->hash, sizeof hash) != 0)
        rc = 0;
    return rc;
}

json_t *token_json(const struct token_row *row)
{
    return json_pack("{s:I, s:s, s:o, s:o, s:o, s:o, s:o}", "id", (json_int_t)row->id, "role",
                     token_role_name(row->role), "label", value_text_or_null(row->label), "created",
                     value_time(row->created_ms), "expires", value_time(row->expires_ms), "revoked",
                     value_time(row->revoked_ms), "last_used", value_time(row->last_used_ms));
}
