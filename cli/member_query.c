#include "cli/member_query.h"

#include "cli/client.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* Reads the whole text as a number, or as null if it is empty. Returns NULL if it is neither. */
static json_t *read_end(const char *text, size_t size)
{
    char *copy = xasprintf("%.*s", (int)size, text), *rest;
    double value = strtod(copy, &rest);
    json_t *end = size == 0 ? json_null() : *rest == '\0' ? json_real(value) : NULL;

    free(copy);
    return end;
}

static json_t *read_range(const char *text)
{
    const char *dots = strstr(text, "..");
    json_t *low, *high;

    if (dots == NULL || strcmp(text, "..") == 0)
        return NULL;
    low = read_end(text, (size_t)(dots - text));
    high = read_end(dots + 2, strlen(dots + 2));
    if (low != NULL && high != NULL)
        return json_pack("[o, o]", low, high);
    json_decref(low);
    json_decref(high);
    return NULL;
}

/* Reads JSON: a number, a boolean, a text in quotes, a list or an object. Any other word is a text as it stands. */
static json_t *condition_value(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

    if (value != NULL && !json_is_null(value))
        return value;
    json_decref(value);
    return json_string(text);
}

int member_query_where(struct member_query *query, const char *text)
{
    const char *equals = strchr(text, '=');
    char *name;
    json_t *value;

    if (equals == NULL || equals == text)
        return -1;
    value = read_range(equals + 1);
    if (value == NULL)
        value = condition_value(equals + 1);
    if (query->where == NULL)
        query->where = json_object();
    name = xasprintf("%.*s", (int)(equals - text), text);
    if (value == NULL || json_object_get(query->where, name) != NULL ||
        json_object_set(query->where, name, value) < 0) {
        json_decref(value);
        free(name);
        return -1;
    }
    json_decref(value);
    free(name);
    return 0;
}

bool member_query_is_any(const struct member_query *query)
{
    return !query->state && !query->from && !query->to && !query->host && !query->cause && !query->where;
}

static void put_query_parameter(struct text *out, const char *name, const char *value)
{
    char *escaped;

    if (value == NULL)
        return;
    escaped = client_escape(value);
    text_add(out, "&%s=%s", name, escaped);
    free(escaped);
}

void member_query_put(const struct member_query *query, struct text *out)
{
    char *where = query->where ? json_dumps(query->where, JSON_COMPACT) : NULL;

    put_query_parameter(out, "state", query->state);
    put_query_parameter(out, "from", query->from);
    put_query_parameter(out, "to", query->to);
    put_query_parameter(out, "host", query->host);
    put_query_parameter(out, "cause", query->cause);
    put_query_parameter(out, "where", where);
    free(where);
}

void member_query_fini(struct member_query *query)
{
    json_decref(query->where);
}
