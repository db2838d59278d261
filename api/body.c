#include "api/body.h"

#include "api/limits.h"
#include "common/jsonx.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void body_init(struct body *body, size_t *budget)
{
    *body = (struct body){.budget = budget, .max = LIMIT_BODY};
}

void body_fini(struct body *body)
{
    if (body->data == NULL)
        return;
    free(body->data);
    *body->budget -= body->cap;
    body->data = NULL;
    body->size = body->cap = 0;
}

/* Returns the announced length. MHD has already refused lengths that are not numbers. */
static unsigned long long announced(struct MHD_Connection *connection)
{
    const char *text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Length");

    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

static bool is_json(const char *type)
{
    static const char json[] = "application/json";
    const char *rest = type + strlen(json);
    const char *charset;

    if (strncasecmp(type, json, strlen(json)) != 0 || strchr("; \t", *rest) == NULL)
        return false;
    charset = strcasestr(rest, "charset=");
    if (charset == NULL)
        return true;
    charset += strlen("charset=");
    charset += *charset == '"';
    return strncasecmp(charset, "utf-8", 5) == 0;
}

int body_check_headers(const struct body *body, struct MHD_Connection *connection, bool wanted, struct error *err)
{
    const char *type = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Content-Type");
    bool chunked = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding") != NULL;

    if (announced(connection) > body->max)
        return error_set(err, "body_too_large", "the body has %llu bytes; at most %zu are taken", announced(connection),
                         body->max);
    if (type == NULL || is_json(type) || (!wanted && !chunked && announced(connection) == 0))
        return 0;
    return error_set(err, "body_not_json",
                     "the body is said to be \"%.100s\", and JSON in UTF-8 is wanted: with curl, add -H "
                     "'Content-Type: application/json'",
                     type);
}

bool body_can_be_left(struct MHD_Connection *connection)
{
    const char *expect = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Expect");
    const char *coding = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Transfer-Encoding");

    if (coding != NULL && strcasecmp(coding, "chunked") != 0)
        return true; /* nobody can know where the body ends, so that waiting for its end would never end */
    return (expect != NULL && strcasecmp(expect, "100-continue") == 0) || announced(connection) > LIMIT_DISCARD;
}

int body_append(struct body *body, const char *data, size_t size, struct error *err)
{
    if (size > body->max - body->size)
        return error_set(err, "body_too_large", "the body has more than %zu bytes", body->max);
    if (body->size + size + 1 > body->cap) {
        size_t cap = 2 * (body->size + size) + 1;
        char *grown;

        if (cap < 4096)
            cap = 4096;
        grown = *body->budget + (cap - body->cap) <= LIMIT_BODIES ? realloc(body->data, cap) : NULL;
        if (grown == NULL)
            return error_set(err, "busy", "too many large requests at once; try again");
        *body->budget += cap - body->cap;
        body->data = grown;
        body->cap = cap;
    }
    memcpy(body->data + body->size, data, size);
    body->size += size;
    body->data[body->size] = '\0';
    return 0;
}

int body_discard(struct body *body, size_t size)
{
    body_fini(body);
    body->discarded += size;
    return body->discarded <= LIMIT_DISCARD ? 0 : -1;
}

json_t *body_json(const struct body *body, int *line, int *column, struct error *err)
{
    json_error_t where;
    const char *from;
    json_t *json;

    *line = *column = 1;
    if (body->size == 0) {
        error_set(err, "json_malformed", "the body is empty");
        return NULL;
    }
    from = jsonx_skip_mark(body->data, body->size);
    json = json_loadb(from, body->size - (size_t)(from - body->data), JSON_REJECT_DUPLICATES, &where);
    if (json != NULL)
        return json;
    *line = where.line > 0 ? where.line : 1;
    *column = where.column > 0 ? where.column : 1;
    error_set(err, "json_malformed", "line %d, column %d: %s", *line, *column,
              json_error_code(&where) == json_error_null_character ? "a string cannot hold \\u0000" : where.text);
    return NULL;
}
