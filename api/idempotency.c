#include "api/idempotency.h"

#include "api/value.h"
#include "daemon/store/idempotency.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 200

static bool key_is_usable(const char *key)
{
    const char *c = key;

    while (*c > ' ' && *c <= '~')
        c++;
    return *c == '\0' && c > key && c - key <= KEY_MAX;
}

/* Hashes what the key stands for: this call with this body. */
static void hash_call(struct request *r, const char *call, char digest[65])
{
    crypto_hash_sha256_state state;
    unsigned char hash[crypto_hash_sha256_BYTES];
    size_t size;
    const void *body = request_body(r, &size);

    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)call, strlen(call));
    crypto_hash_sha256_update(&state, (const unsigned char *)"\n", 1);
    crypto_hash_sha256_update(&state, body, size);
    crypto_hash_sha256_final(&state, hash);
    sodium_bin2hex(digest, 65, hash, sizeof hash);
}

bool idempotency_answered(struct request *r, const char *call, struct idempotency *key,
                          void (*replayed)(struct request *r, const json_t *body))
{
    char former[65] = "", *body = NULL;
    struct error err;
    json_t *json;
    int status, rc;

    *key = (struct idempotency){.key = request_header(r, "Idempotency-Key")};
    if (key->key == NULL)
        return false;
    if (!key_is_usable(key->key)) {
        request_reply_error(r, "idempotency_key_invalid",
                            "an Idempotency-Key is 1 to %d printable ASCII characters without blanks", KEY_MAX);
        return true;
    }
    hash_call(r, call, key->digest);
    rc = store_idempotency_get(request_store(r), key->key, former, &status, &body, &err);
    if (rc == 0)
        return false;
    if (rc < 0) {
        request_reply_problem(r, &err);
    } else if (strcmp(former, key->digest) != 0) {
        request_reply_error(r, "idempotency_conflict", "this Idempotency-Key came before with another call or body");
        free(body);
    } else {
        if (replayed != NULL) {
            json = json_loads(body, 0, NULL);
            replayed(r, json);
            json_decref(json);
        }
        request_add_header(r, "Idempotency-Replayed", "true");
        request_reply_text(r, status, status >= 400 ? "application/problem+json" : "application/json", body);
    }
    return true;
}

void idempotency_reply(struct request *r, const struct idempotency *key, int status, json_t *json)
{
    char *text = value_dump(json);
    struct error err;

    json_decref(json);
    if (text == NULL) {
        request_reply_error(r, "internal", "the call was carried out, but the reply cannot be made");
    } else if (key->key != NULL && store_idempotency_put(request_store(r), key->key, key->digest, status, text,
                                                         request_now_ms(r), &err) < 0) {
        free(text);
        request_reply_problem(r, &err);
    } else {
        request_reply_text(r, status, "application/json", text);
    }
}
