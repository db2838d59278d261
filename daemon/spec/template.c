#include "daemon/spec/template.h"

#include "common/jsonx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes the next piece off the template at *p. Returns:
 *
 * - 1 for literal text of *len bytes at *start
 * - 2 for a placeholder, with its name there
 * - 0 at the end
 * - -1 for a brace that is neither doubled nor part of a placeholder */
static int next_piece(const char **p, const char **start, size_t *len)
{
    const char *s = *p, *end;

    if (*s == '\0')
        return 0;
    if (*s == '{' && s[1] != '{') {
        end = strchr(s, '}');
        if (end == NULL || end == s + 1 || end - s - 1 > TEMPLATE_NAME_MAX)
            return -1;
        *start = s + 1;
        *len = (size_t)(end - s - 1);
        if (memchr(*start, '{', *len) != NULL)
            return -1;
        *p = end + 1;
        return 2;
    }
    if (*s == '{' || *s == '}') {
        if (s[1] != *s)
            return -1;
        *start = s;
        *len = 1;
        *p = s + 2;
        return 1;
    }
    *start = s;
    *len = strcspn(s, "{}");
    *p = s + *len;
    return 1;
}

int template_check(const char *text, bool (*known)(void *arg, const char *name), void *arg, const char *pointer,
                   struct error *err)
{
    char name[TEMPLATE_NAME_MAX + 1];
    const char *start;
    size_t len;
    int piece;

    while ((piece = next_piece(&text, &start, &len)) > 0) {
        if (piece != 2)
            continue;
        memcpy(name, start, len);
        name[len] = '\0';
        if (!known(arg, name))
            return error_at(err, "spec_unfilled_placeholder", pointer, "nothing fills the placeholder {%s}%s", name,
                            strchr(name, '[') != NULL ? "; items of a list are written as {name.0}" : "");
    }
    if (piece < 0)
        return error_at(err, "spec_bad_placeholder", pointer,
                        "a single brace: write {{ and }} for braces of the text itself");
    return 0;
}

void template_put_value(struct text *out, const json_t *value)
{
    char buf[TEXT_REAL];

    switch (json_typeof(value)) {
    case JSON_STRING: text_put(out, json_string_value(value), json_string_length(value)); return;
    case JSON_REAL: text_string(out, text_real(buf, json_real_value(value))); return;
    case JSON_INTEGER: text_add(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); return;
    default: text_json(out, value);
    }
}

static const char *find_word(const struct template_word *words, const char *name)
{
    for (; words != NULL && words->name != NULL; words++)
        if (strcmp(words->name, name) == 0)
            return words->text;
    return NULL;
}

int template_fill_by(struct text *out, const char *text, const struct template_word *words, const json_t *values,
                     void (*put)(struct text *out, const json_t *value), size_t max)
{
    char name[TEMPLATE_NAME_MAX + 1];
    const char *start, *word;
    const json_t *value;
    size_t len;
    int piece;

    out->size = 0;
    text_put(out, "", 0);
    while (out->size <= max && (piece = next_piece(&text, &start, &len)) > 0) {
        if (piece == 1) {
            text_put(out, start, len);
            continue;
        }
        memcpy(name, start, len);
        name[len] = '\0';
        word = find_word(words, name);
        value = word == NULL ? jsonx_reach(values, name) : NULL;
        if (word != NULL)
            text_string(out, word);
        else if (value != NULL)
            put(out, value);
    }
    return out->size <= max ? 0 : -1;
}

int template_fill(struct text *out, const char *text, const struct template_word *words, const json_t *values,
                  size_t max)
{
    return template_fill_by(out, text, words, values, template_put_value, max);
}

bool template_is_full(const char *text, const struct template_word *words, const json_t *values,
                      char name[TEMPLATE_NAME_MAX + 1])
{
    const char *start;
    size_t len;
    int piece;

    while ((piece = next_piece(&text, &start, &len)) > 0) {
        if (piece == 1)
            continue;
        memcpy(name, start, len);
        name[len] = '\0';
        if (find_word(words, name) == NULL && jsonx_reach(values, name) == NULL)
            return false;
    }
    return true;
}

size_t template_longest(const char *text, size_t max, size_t (*longest)(void *arg, const char *name), void *arg)
{
    char name[TEMPLATE_NAME_MAX + 1];
    const char *start;
    size_t len, size = 0;
    int piece;

    while (size <= max && (piece = next_piece(&text, &start, &len)) > 0) {
        if (piece == 2) {
            memcpy(name, start, len);
            name[len] = '\0';
            len = longest(arg, name);
        }
        size += len;
    }
    return size;
}
