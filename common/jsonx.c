#include "common/jsonx.h"

#include "common/units.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRONG_TYPE "spec_wrong_type"
#define WRONG_VALUE "spec_impossible_value"

char *jsonx_pointer(char *buf, size_t size, const char *at, const char *key)
{
    size_t n = (size_t)snprintf(buf, size, "%s/", at);

    for (; *key && n + 2 < size; key++) {
        if (*key == '~' || *key == '/') {
            buf[n++] = '~';
            buf[n++] = *key == '~' ? '0' : '1';
        } else {
            buf[n++] = *key;
        }
    }
    if (n < size)
        buf[n] = '\0';
    return buf;
}

const char *jsonx_type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER: return "an integer";
    case JSON_REAL: return "a number";
    case JSON_TRUE:
    case JSON_FALSE: return "true or false";
    case JSON_NULL: break;
    }
    return "null";
}

#define POINTER(at, key) jsonx_pointer((char[256]){0}, 256, at, key)

/* Looks a key up. Returns 1 with *value if it is there, 0 if it is absent and may be, -1 with err otherwise. */
static int look_up_key(const json_t *obj, const char *at, const char *key, enum jsonx_need need, const json_t **value,
                       struct error *err)
{
    *value = json_object_get(obj, key);
    if (*value != NULL && !json_is_null(*value))
        return 1;
    if (need == JSONX_OPTIONAL)
        return 0;
    return error_at(err, "spec_missing_key", POINTER(at, key), "\"%s\" is required", key);
}

static int wrong_type(const json_t *value, const char *at, const char *key, const char *wanted, struct error *err)
{
    return error_at(err, WRONG_TYPE, POINTER(at, key), "\"%s\" must be %s, not %s", key, wanted,
                    jsonx_type_name(value));
}

int jsonx_string(const json_t *obj, const char *at, const char *key, enum jsonx_need need, const char **out,
                 struct error *err)
{
    const json_t *value;
    int rc = look_up_key(obj, at, key, need, &value, err);

    if (rc <= 0)
        return rc;
    if (!json_is_string(value))
        return wrong_type(value, at, key, "a string", err);
    if (json_string_length(value) == 0)
        return error_at(err, WRONG_VALUE, POINTER(at, key), "\"%s\" must not be empty", key);
    *out = json_string_value(value);
    return 0;
}

int jsonx_int(const json_t *obj, const char *at, const char *key, enum jsonx_need need, int64_t min, int64_t max,
              int64_t *out, struct error *err)
{
    const json_t *value;
    int rc = look_up_key(obj, at, key, need, &value, err);

    if (rc <= 0)
        return rc;
    if (!json_is_integer(value))
        return wrong_type(value, at, key, "an integer", err);
    if (json_integer_value(value) < min || json_integer_value(value) > max)
        return error_at(err, WRONG_VALUE, POINTER(at, key), "\"%s\" must be between %lld and %lld, not %lld", key,
                        (long long)min, (long long)max, (long long)json_integer_value(value));
    *out = json_integer_value(value);
    return 0;
}

int jsonx_bool(const json_t *obj, const char *at, const char *key, enum jsonx_need need, bool *out, struct error *err)
{
    const json_t *value;
    int rc = look_up_key(obj, at, key, need, &value, err);

    if (rc <= 0)
        return rc;
    if (!json_is_boolean(value))
        return wrong_type(value, at, key, "true or false", err);
    *out = json_is_true(value);
    return 0;
}

int jsonx_number(const json_t *obj, const char *at, const char *key, enum jsonx_need need, double *out,
                 struct error *err)
{
    const json_t *value;
    int rc = look_up_key(obj, at, key, need, &value, err);

    if (rc <= 0)
        return rc;
    if (!json_is_number(value))
        return wrong_type(value, at, key, "a number", err);
    if (!isfinite(json_number_value(value)))
        return error_at(err, WRONG_VALUE, POINTER(at, key), "\"%s\" must be finite", key);
    *out = json_number_value(value);
    return 0;
}

int jsonx_duration(const json_t *obj, const char *at, const char *key, enum jsonx_need need, int64_t min_ms,
                   int64_t *out_ms, struct error *err)
{
    const json_t *value;
    int64_t ms;
    int rc = look_up_key(obj, at, key, need, &value, err);

    if (rc <= 0)
        return rc;
    if (!json_is_string(value))
        return wrong_type(value, at, key, "a duration such as \"90s\", \"10m\", \"2h\" or \"01:30:00\"", err);
    if (duration_parse(json_string_value(value), &ms) < 0)
        return error_at(err, WRONG_VALUE, POINTER(at, key),
                        "\"%s\" is no duration; write \"90s\", \"10m\", \"2h\" or \"01:30:00\"",
                        json_string_value(value));
    if (ms < min_ms)
        return error_at(err, WRONG_VALUE, POINTER(at, key), "\"%s\" must be at least %lld ms", key, (long long)min_ms);
    *out_ms = ms;
    return 0;
}

int jsonx_size(const json_t *obj, const char *at, const char *key, enum jsonx_need need, int64_t *out_bytes,
               struct error *err)
{
    const json_t *value;
    int64_t bytes;
    int rc = look_up_key(obj, at, key, need, &value, err);

    if (rc <= 0)
        return rc;
    if (!json_is_string(value))
        return wrong_type(value, at, key, "a size such as \"512MiB\" or \"2GiB\"", err);
    if (size_parse(json_string_value(value), &bytes) < 0)
        return error_at(err, WRONG_VALUE, POINTER(at, key), "\"%s\" is no size; write \"512MiB\" or \"2GiB\"",
                        json_string_value(value));
    *out_bytes = bytes;
    return 0;
}

int jsonx_object(const json_t *obj, const char *at, const char *key, enum jsonx_need need, const json_t **out,
                 struct error *err)
{
    const json_t *value;
    int rc = look_up_key(obj, at, key, need, &value, err);

    if (rc <= 0)
        return rc;
    if (!json_is_object(value))
        return wrong_type(value, at, key, "an object", err);
    *out = value;
    return 0;
}

int jsonx_array(const json_t *obj, const char *at, const char *key, enum jsonx_need need, size_t min_items,
                const json_t **out, struct error *err)
{
    const json_t *value;
    int rc = look_up_key(obj, at, key, need, &value, err);

    if (rc <= 0)
        return rc;
    if (!json_is_array(value))
        return wrong_type(value, at, key, "an array", err);
    if (json_array_size(value) < min_items)
        return error_at(err, WRONG_VALUE, POINTER(at, key), "\"%s\" must have at least %zu item%s", key, min_items,
                        min_items == 1 ? "" : "s");
    *out = value;
    return 0;
}

int jsonx_strings(const json_t *obj, const char *at, const char *key, enum jsonx_need need, size_t min_items,
                  const json_t **out, struct error *err)
{
    const json_t *list = NULL, *item;
    char place[256];
    size_t i;

    if (jsonx_array(obj, at, key, need, min_items, &list, err) < 0)
        return -1;
    if (list == NULL)
        return 0;
    json_array_foreach (list, i, item) {
        if (!json_is_string(item)) {
            snprintf(place, sizeof place, "%.200s/%zu", POINTER(at, key), i);
            return error_at(err, WRONG_TYPE, place, "each item of \"%s\" must be a string, not %s", key,
                            jsonx_type_name(item));
        }
    }
    *out = list;
    return 0;
}

/* Returns how many characters must be inserted, left out, replaced or swapped with their neighbour to make `b` of `a`.
 * Both must be short. */
static int key_distance(const char *a, const char *b)
{
    enum { MOST = 40 };
    int d[MOST + 1][MOST + 1], n = (int)strlen(a), m = (int)strlen(b);

    if (n > MOST || m > MOST)
        return INT_MAX;
    for (int i = 0; i <= n; i++) {
        for (int j = 0; j <= m; j++) {
            int least = i == 0 ? j : j == 0 ? i : d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

            if (i > 0 && j > 0) {
                least = d[i - 1][j] + 1 < least ? d[i - 1][j] + 1 : least;
                least = d[i][j - 1] + 1 < least ? d[i][j - 1] + 1 : least;
            }
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < least)
                least = d[i - 2][j - 2] + 1;
            d[i][j] = least;
        }
    }
    return d[n][m];
}

/* Returns the known key that somebody who wrote `key` probably meant, or NULL. A third of its characters may be
 * wrong. */
static const char *meant(const char *key, const char *const *known)
{
    int least = (int)(strlen(key) + 2) / 3;
    const char *closest = NULL;

    for (; *known != NULL; known++) {
        int d = key_distance(key, *known);

        if (d <= least && (closest == NULL || d < least)) {
            least = d;
            closest = *known;
        }
    }
    return closest;
}

int jsonx_only(const json_t *obj, const char *at, const char *const *known, struct error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach ((json_t *)obj, key, value) {
        char list[400] = "";
        size_t i;

        for (i = 0; known[i] != NULL && strcmp(known[i], key) != 0; i++)
            ;
        if (known[i] != NULL)
            continue;
        for (i = 0; known[i] != NULL; i++)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", known[i]);
        if (meant(key, known) != NULL)
            return error_at(err, "spec_unknown_key", POINTER(at, key),
                            "unknown key \"%.100s\": did you mean \"%s\"? Known here: %s", key, meant(key, known),
                            list);
        return error_at(err, "spec_unknown_key", POINTER(at, key), "unknown key \"%.100s\"; known here: %s", key, list);
    }
    return 0;
}

/* Returns the value of the longest part of the path, up to a dot, that is a key; *rest is the part behind the dot. */
static const json_t *first_step(const json_t *obj, const char *path, const char **rest)
{
    const json_t *value = NULL;
    char key[JSONX_PATH_MAX + 1];
    char *dot;

    if (strlen(path) > JSONX_PATH_MAX)
        return NULL;
    strcpy(key, path);
    while (value == NULL && (dot = strrchr(key, '.')) != NULL) {
        *dot = '\0';
        value = json_object_get(obj, key);
        *rest = path + (dot - key) + 1;
    }
    return value;
}

const json_t *jsonx_reach(const json_t *obj, const char *path)
{
    const json_t *value = json_object_get(obj, path);
    const char *rest;

    if (value != NULL)
        return value;
    value = first_step(obj, path, &rest);
    return value != NULL ? jsonx_inside(value, rest) : NULL;
}

const json_t *jsonx_inside(const json_t *value, const char *path)
{
    size_t digits = strspn(path, "0123456789");

    if (!json_is_array(value))
        return jsonx_reach(value, path);
    if (digits == 0 || digits > 9 || (path[digits] != '\0' && path[digits] != '.'))
        return NULL;
    value = json_array_get(value, strtoul(path, NULL, 10));
    return path[digits] == '.' ? jsonx_inside(value, path + digits + 1) : value;
}

char *jsonx_dump(const json_t *value, const char *end)
{
    size_t flags = JSON_COMPACT | JSON_ENCODE_ANY, size = value != NULL ? json_dumpb(value, NULL, 0, flags) : 0;
    char *text = size > 0 ? malloc(size + strlen(end) + 1) : NULL;

    if (text == NULL)
        return NULL;
    if (json_dumpb(value, text, size, flags) != size) {
        free(text);
        return NULL;
    }
    strcpy(text + size, end);
    return text;
}

bool jsonx_no_memory(const json_error_t *err)
{
    enum json_error_code code = json_error_code(err);

    return code == json_error_out_of_memory || code == json_error_unknown;
}

/* Replaces a real by the shortest digits that read back as the same number: 0.1 rather than 0.10000000000000001.
 * `token` has `size` characters; returns the new size, which is never larger. */
static size_t real_shorten(char *token, size_t size)
{
    double x = strtod(token, NULL);
    char buf[32];

    for (int digits = 15; digits <= 16; digits++) {
        size_t n = (size_t)snprintf(buf, sizeof buf, "%.*g", digits, x);

        if (n < size && strtod(buf, NULL) == x && strpbrk(buf, ".e") != NULL) {
            memcpy(token, buf, n);
            return n;
        }
    }
    return size;
}

/* Shortens all long reals of a JSON text in place. */
static void reals_shorten(char *text)
{
    char *in = text, *out = text;

    while (*in) {
        size_t size = 1, kept;

        if (*in == '"') {
            while (in[size] != '"')
                size += in[size] == '\\' ? 2 : 1;
            size++;
        } else if (*in == '-' || (*in >= '0' && *in <= '9')) {
            size = strspn(in, "+-.eE0123456789");
        }
        kept = size > 16 && *in != '"' && memchr(in, '.', size) != NULL ? real_shorten(in, size) : size;
        memmove(out, in, kept);
        in += size;
        out += kept;
    }
    *out = '\0';
}

char *jsonx_dumps(const json_t *value, size_t flags)
{
    char *text = json_dumps(value, flags | JSON_REAL_PRECISION(17));

    if (text != NULL)
        reals_shorten(text);
    return text;
}

void jsonx_print(const json_t *value, FILE *to)
{
    char *text = jsonx_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

    fputs(text != NULL ? text : "null", to);
    free(text);
}

const char *jsonx_skip_mark(const char *text, size_t size)
{
    return size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;
}
