#include "api/session.h"

#include "api/value.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "/s/"
#define NAME "stretto="
#define ALPHABET "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

void session_key_make(struct session_key *key)
{
    unsigned char random[16];

    randombytes_buf(random, sizeof random);
    sodium_bin2base64(key->place, sizeof key->place, random, sizeof random, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    token_secret(key->secret);
}

void session_hash(const struct session_key *key, char hash[65])
{
    char both[sizeof key->place + sizeof key->secret];

    snprintf(both, sizeof both, "%s.%s", key->place, key->secret);
    token_hash(both, hash);
    sodium_memzero(both, sizeof both);
}

const char *session_path(const char *path, char place[SESSION_PLACE_SIZE])
{
    const char *at = path + sizeof PREFIX - 1;

    place[0] = '\0';
    if (strncmp(path, PREFIX, sizeof PREFIX - 1) != 0 || strspn(at, ALPHABET) != SESSION_PLACE_SIZE - 1 ||
        at[SESSION_PLACE_SIZE - 1] != '/')
        return path;
    memcpy(place, at, SESSION_PLACE_SIZE - 1);
    place[SESSION_PLACE_SIZE - 1] = '\0';
    return at + SESSION_PLACE_SIZE - 1;
}

/* Finds the first cookie of our name. If there are several, the first is ours: browsers send those with longer paths
 * first, and another server cannot set one for a path that it does not know. */
bool session_secret(const char *cookies, char secret[TOKEN_SECRET_SIZE])
{
    const char *at = cookies;

    while (at != NULL && strncmp(at, NAME, sizeof NAME - 1) != 0) {
        at = strchr(at, ';');
        at = at != NULL ? at + 1 + strspn(at + 1, " ") : NULL;
    }
    if (at == NULL)
        return false;
    at += sizeof NAME - 1;
    if (strspn(at, ALPHABET) != TOKEN_SECRET_SIZE - 1 || strchr("; ", at[TOKEN_SECRET_SIZE - 1]) == NULL)
        return false;
    memcpy(secret, at, TOKEN_SECRET_SIZE - 1);
    secret[TOKEN_SECRET_SIZE - 1] = '\0';
    return true;
}

void session_cookie(char cookie[SESSION_COOKIE_SIZE], const struct session_row *row, const struct session_key *key,
                    bool secure)
{
    int64_t age_s = key->secret[0] != '\0' ? (row->expires_ms - row->created_ms) / 1000 : 0;

    snprintf(cookie, SESSION_COOKIE_SIZE, NAME "%s; Path=%ss/%s; Max-Age=%" PRId64 "; HttpOnly; SameSite=Strict%s",
             key->secret, row->path, key->place, age_s, secure ? "; Secure" : "");
}

json_t *session_json(const struct session_row *row)
{
    return json_pack("{s:I, s:s, s:o, s:o, s:o, s:o}", "id", (json_int_t)row->id, "role", token_role_name(row->role),
                     "token", value_or_null(row->token != 0 ? json_integer(row->token) : NULL), "created",
                     value_time(row->created_ms), "expires", value_time(row->expires_ms), "last_used",
                     value_time(row->last_used_ms));
}
