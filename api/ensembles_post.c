#include "api/ensemble_json.h"
#include "api/find.h"
#include "api/handlers.h"
#include "api/value.h"
#include "daemon/store/idempotency.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
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

/* What the key stands for: this call with this body. */
static void digest_of(struct request *r, char digest[65])
{
    static const char call[] = "POST /v1/ensembles\n";
    crypto_hash_sha256_state state;
    unsigned char hash[crypto_hash_sha256_BYTES];
    size_t size;
    const void *body = request_body(r, &size);

    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, (const unsigned char *)call, sizeof call - 1);
    crypto_hash_sha256_update(&state, body, size);
    crypto_hash_sha256_final(&state, hash);
    sodium_bin2hex(digest, 65, hash, sizeof hash);
}

static void add_location(struct request *r, int64_t id)
{
    char location[48];

    snprintf(location, sizeof location, "/v1/ensembles/%" PRId64, id);
    request_add_header(r, "Location", location);
}

/* True where the key has been seen: the reply is the first one, or a conflict. */
static bool replay(struct request *r, const char *key, const char *digest)
{
    char former[65] = "", *body = NULL;
    struct error err;
    json_t *json;
    int status, rc = store_idempotency_get(request_store(r), key, former, &status, &body, &err);

    if (rc == 0)
        return false;
    if (rc < 0) {
        request_reply_problem(r, &err);
    } else if (strcmp(former, digest) != 0) {
        request_reply_error(r, "idempotency_conflict", "this Idempotency-Key came before with another body");
        free(body);
    } else {
        json = json_loads(body, 0, NULL);
        add_location(r, json_integer_value(json_object_get(json, "id")));
        json_decref(json);
        request_add_header(r, "Idempotency-Replayed", "true");
        request_reply_text(r, status, "application/json", body);
    }
    return true;
}

static void submit(struct request *r, const json_t *spec, const char *key, const char *digest)
{
    struct store *store = request_store(r);
    struct ensemble_row row;
    struct error err;
    json_t *json;
    int64_t id;
    char *text;

    if (!json_is_object(spec)) {
        error_at(&err, "spec_wrong_type", "", "a spec is an object");
        request_reply_problem(r, &err);
        return;
    }
    if (engine_submit(request_config(r)->engine, spec, &id, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    if (store_ensemble_get(store, id, &row, &err) <= 0) {
        request_reply_error(r, "internal", "ensemble %" PRId64 " was accepted and cannot be read back", id);
        return;
    }
    json = ensemble_json(r, &row, &err);
    text = json != NULL ? value_dump(json) : NULL;
    json_decref(json);
    if (text == NULL) {
        request_reply_error(r, "internal", "ensemble %" PRId64 " was accepted and cannot be shown", id);
        return;
    }
    if (key != NULL && store_idempotency_put(store, key, digest, 201, text, request_now_ms(r), &err) < 0) {
        free(text);
        request_reply_problem(r, &err);
        return;
    }
    add_location(r, id);
    request_reply_text(r, 201, "application/json", text);
}

void ensembles_post(struct request *r)
{
    const char *key = request_header(r, "Idempotency-Key");
    char digest[65] = "";
    json_t *spec;

    if (key != NULL && !key_is_usable(key)) {
        request_reply_error(r, "idempotency_key_invalid",
                            "an Idempotency-Key is 1 to %d printable ASCII characters without blanks", KEY_MAX);
        return;
    }
    if (key != NULL) {
        digest_of(r, digest);
        if (replay(r, key, digest))
            return;
    }
    spec = request_json(r);
    if (spec == NULL)
        return;
    submit(r, spec, key, digest);
    json_decref(spec);
}
