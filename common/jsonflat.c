#include "common/jsonflat.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX 64
#define DIGITS_MAX 17 /* every integer of so many digits fits an int64_t */
#define REAL_MAX 40   /* no number of so many characters, without an exponent, is too large for a double */

static const char *skip_space(const char *p)
{
    while (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')
        p++;
    return p;
}

/* Returns the closing quote of the string whose text begins at p; NULL where the string is not plain. */
static const char *plain_string(const char *p)
{
    for (p++; *p != '"'; p++)
        if (*p < ' ' || *p > '~' || *p == '\\')
            return NULL;
    return p;
}

static json_t *number(const char **at)
{
    const char *p = *at, *digits;
    bool negative = *p == '-';
    char *end;
    double real;

    p += negative;
    digits = p;
    while (*p >= '0' && *p <= '9')
        p++;
    if (p == digits || (*digits == '0' && p > digits + 1))
        return NULL;
    if (*p == '.') {
        const char *point = p++;

        while (*p >= '0' && *p <= '9')
            p++;
        real = strtod(*at, &end);
        if (p == point + 1 || p - digits > REAL_MAX || end != p || *p == 'e' || *p == 'E')
            return NULL;
        *at = p;
        return json_real(real);
    }
    if (p - digits > DIGITS_MAX || *p == 'e' || *p == 'E' || (negative && *digits == '0'))
        return NULL;
    *at = p;
    return json_integer(strtoll(negative ? digits - 1 : digits, NULL, 10));
}

static json_t *value(const char **at)
{
    static const struct {
        const char *word;
        size_t length;
    } words[] = {{"null", 4}, {"true", 4}, {"false", 5}};
    const char *p = *at, *end;

    if (*p == '"') {
        end = plain_string(p);
        if (end == NULL)
            return NULL;
        *at = end + 1;
        return json_stringn_nocheck(p + 1, (size_t)(end - p - 1));
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strncmp(p, words[i].word, words[i].length) != 0)
            continue;
        *at = p + words[i].length;
        return i == 0 ? json_null() : json_boolean(i == 1);
    }
    return number(at);
}

/* Reads one key and its value into obj. Returns the text after them, or NULL where they are not plain. */
static const char *member(json_t *obj, const char *p)
{
    const char *end = *p == '"' ? plain_string(p) : NULL;
    char key[KEY_MAX];
    json_t *item;

    if (end == NULL || end - p > KEY_MAX)
        return NULL;
    memcpy(key, p + 1, (size_t)(end - p - 1));
    key[end - p - 1] = '\0';
    p = skip_space(end + 1);
    if (*p != ':' || json_object_get(obj, key) != NULL)
        return NULL;
    p = skip_space(p + 1);
    item = value(&p);
    if (item == NULL || json_object_set_new_nocheck(obj, key, item) < 0)
        return NULL;
    return skip_space(p);
}

json_t *json_load_flat(const char *text, size_t size)
{
    const char *p = skip_space(text);
    json_t *obj;

    if (*p != '{')
        return NULL;
    obj = json_object();
    do
        p = member(obj, skip_space(p + 1));
    while (p != NULL && *p == ',');
    if (p == NULL || *p != '}' || skip_space(p + 1) != text + size) {
        json_decref(obj);
        return NULL;
    }
    return obj;
}
