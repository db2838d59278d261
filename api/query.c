#include "api/query.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct query_reading {
    struct query *query;
    const char *known;
    struct error *err;
    bool failed;
};

static bool is_known_parameter(const char *name, const char *known)
{
    size_t size = strlen(name);

    for (; *known; known += strcspn(known, " "), known += strspn(known, " ")) {
        if (strcspn(known, " ") == size && strncmp(known, name, size) == 0)
            return true;
    }
    return false;
}

static enum MHD_Result read_query_parameter(void *arg, enum MHD_ValueKind kind, const char *name, size_t name_size,
                                            const char *value, size_t value_size)
{
    struct query_reading *reading = arg;
    struct query *query = reading->query;

    reading->failed = true;
    if (strlen(name) != name_size || !is_known_parameter(name, reading->known)) {
        error_set(reading->err, "query_unknown_parameter", "unknown query parameter \"%.100s\"; known here: %s", name,
                  *reading->known ? reading->known : "none");
        return MHD_NO;
    }
    if (value == NULL || strlen(value) != value_size || value_size == 0) {
        error_set(reading->err, "query_wrong_value", "query parameter \"%s\" has no usable value", name);
        return MHD_NO;
    }
    if (query_get(query, name) != NULL) {
        error_set(reading->err, "query_wrong_value", "query parameter \"%s\" is given twice", name);
        return MHD_NO;
    }
    query->item[query->n].name = name;
    query->item[query->n++].value = value;
    reading->failed = false;
    return query->n < QUERY_MAX ? MHD_YES : MHD_NO;
}

int query_read(struct query *query, struct MHD_Connection *connection, const char *known, struct error *err)
{
    struct query_reading reading = {query, known, err, false};

    query->n = 0;
    MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, read_query_parameter, &reading);
    return reading.failed ? -1 : 0;
}

const char *query_get(const struct query *query, const char *name)
{
    for (size_t i = 0; i < query->n; i++) {
        if (strcmp(query->item[i].name, name) == 0)
            return query->item[i].value;
    }
    return NULL;
}

int query_int(const struct query *query, const char *name, int64_t min, int64_t max, int64_t *value, struct error *err)
{
    const char *text = query_get(query, name);
    long long n;

    if (text == NULL)
        return 0;
    errno = 0;
    n = strtoll(text, NULL, 10);
    if (text[strspn(text, "0123456789")] != '\0' || errno != 0 || n < min || n > max)
        return error_set(err, "query_wrong_value",
                         "query parameter \"%s\" must be a number from %lld to %lld, not "
                         "\"%.60s\"",
                         name, (long long)min, (long long)max, text);
    *value = n;
    return 0;
}

/* "a, b or c" */
static void list_words(const char *const words[], size_t n, char *text, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", words[i]);
}

int query_words(const struct query *query, const char *name, const char *const words[], size_t n, unsigned *bits,
                struct error *err)
{
    const char *text = query_get(query, name);
    unsigned found = 0;
    char list[160];

    for (const char *at = text; at != NULL;) {
        size_t size = strcspn(at, ","), i;

        for (i = 0; i < n && (strlen(words[i]) != size || strncmp(words[i], at, size) != 0); i++)
            ;
        if (i == n) {
            list_words(words, n, list, sizeof list);
            return error_set(err, "query_wrong_value",
                             "query parameter \"%s\" must be %s, or some of them with commas, not \"%.60s\"", name,
                             list, text);
        }
        found |= 1u << i;
        at = at[size] == ',' ? at + size + 1 : NULL;
    }
    if (text != NULL)
        *bits = found;
    return 0;
}
