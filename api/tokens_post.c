#include "api/handlers.h"
#include "api/idempotency.h"
#include "api/problem.h"
#include "api/request.h"
#include "api/token.h"
#include "api/value.h"
#include "common/jsonx.h"
#include "common/log_changes.h"
#include "daemon/store/idempotency.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_token_wish(const json_t *wish, int64_t now_ms, struct token_row *row, struct error *err)
{
    static const char *const known[] = {"role", "label", "expires", NULL};
    const char *role = "", *label = "";
    int64_t lasts_ms = 0;

    if (!json_is_object(wish))
        return error_at(err, "spec_wrong_type", "", "a token is asked for by an object with its role");
    if (jsonx_string(wish, "", "role", JSONX_REQUIRED, &role, err) < 0 ||
        jsonx_string(wish, "", "label", JSONX_OPTIONAL, &label, err) < 0 ||
        jsonx_duration(wish, "", "expires", JSONX_OPTIONAL, 1000, &lasts_ms, err) < 0 ||
        jsonx_only(wish, "", known, err) < 0)
        return -1;
    if (token_role_parse(role, &row->role) < 0)
        return error_at(err, "spec_impossible_value", "/role", "\"%.40s\" is no role: reader, operator or admin", role);
    if (strlen(label) >= sizeof row->label)
        return error_at(err, "spec_impossible_value", "/label", "a label has at most %zu bytes", sizeof row->label - 1);
    strcpy(row->label, label);
    row->created_ms = now_ms;
    row->expires_ms = lasts_ms > 0 ? now_ms + lasts_ms : 0;
    return 0;
}

/* Stores the reply for a repeated call with the same Idempotency-Key. It cannot be the token, which is shown only once:
 * storing that reply would be storing the token. */
static int remember_token_shown(struct request *r, const struct idempotency *key, int64_t id, struct error *err)
{
    struct error shown;
    json_t *problem;
    char *text;
    int rc;

    if (key->key == NULL)
        return 0;
    error_set(&shown, "token_shown",
              "token %" PRId64
              " was made by this Idempotency-Key, and shown then: if that reply was lost, revoke it and make another",
              id);
    problem = problem_json(&shown);
    text = value_dump(problem);
    rc = text != NULL ? store_idempotency_put(request_store(r), key->key, key->digest, problem_status(shown.code), text,
                                              request_now_ms(r), err)
                      : error_set(err, "internal", "no memory");
    free(text);
    json_decref(problem);
    return rc;
}

/* Makes a token. This reply is the only one that ever holds it. */
static void make_token(struct request *r, const json_t *wish, const struct idempotency *key)
{
    struct token_row row = {0};
    char secret[TOKEN_SECRET_SIZE], token[TOKEN_SIZE];
    struct error err;
    json_t *json;

    if (read_token_wish(wish, request_now_ms(r), &row, &err) < 0) {
        request_reply_problem(r, &err);
        return;
    }
    token_secret(secret);
    token_hash(secret, row.hash);
    if (store_token_insert(request_store(r), &row, &err) < 0 || remember_token_shown(r, key, row.id, &err) < 0) {
        request_reply_problem(r, &err);
    } else {
        token_spell(row.id, secret, token);
        json = token_json(&row);
        json_object_set_new(json, "token", json_string(token));
        log_change(LOG_LEVEL_INFO, NULL, "token %" PRId64 " made: %s", row.id, token_role_name(row.role));
        request_reply_json(r, 201, json);
    }
    sodium_memzero(secret, sizeof secret);
    sodium_memzero(token, sizeof token);
}

void tokens_post(struct request *r)
{
    struct idempotency key;
    json_t *wish;

    if (idempotency_answered(r, "POST /v1/tokens", &key, NULL))
        return;
    wish = request_json(r);
    if (wish == NULL)
        return;
    make_token(r, wish, &key);
    json_decref(wish);
}
