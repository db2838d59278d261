#include "tasks/runner/metric_line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 32

struct reader {
    const char *at, *end;
    const char *why;
};

static bool reader_fail(struct reader *r, const char *why)
{
    if (r->why == NULL)
        r->why = why;
    return false;
}

static void reader_skip_blanks(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

static bool next_is(struct reader *r, char c)
{
    reader_skip_blanks(r);
    if (r->at >= r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static int hex4(struct reader *r)
{
    int value = 0;

    if (r->end - r->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = *r->at++;
        int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;

        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static void put_utf8(char *out, size_t size, size_t *n, unsigned code)
{
    unsigned char bytes[4];
    size_t len;

    if (code < 0x80) {
        bytes[0] = (unsigned char)code;
        len = 1;
    } else if (code < 0x800) {
        bytes[0] = (unsigned char)(0xC0 | code >> 6);
        len = 2;
    } else if (code < 0x10000) {
        bytes[0] = (unsigned char)(0xE0 | code >> 12);
        len = 3;
    } else {
        bytes[0] = (unsigned char)(0xF0 | code >> 18);
        len = 4;
    }
    for (size_t i = 1; i < len; i++)
        bytes[i] = (unsigned char)(0x80 | (code >> 6 * (len - 1 - i) & 0x3F));
    for (size_t i = 0; i < len; i++, (*n)++)
        if (*n < size)
            out[*n] = (char)bytes[i];
}

/* Reads what follows a backslash. */
static bool read_escape(struct reader *r, char *out, size_t size, size_t *n)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *known;
    int code, low;
    char c;

    if (r->at >= r->end)
        return reader_fail(r, "a string does not end");
    c = *r->at++;
    known = c != '\0' ? strchr(from, c) : NULL;
    if (known != NULL) {
        put_utf8(out, size, n, (unsigned char)to[known - from]);
        return true;
    }
    if (c != 'u' || (code = hex4(r)) <= 0)
        return reader_fail(r, "a string has an escape that JSON does not know");
    if (code >= 0xD800 && code < 0xDC00) {
        if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
            return reader_fail(r, "a string has half of a character");
        r->at += 2;
        low = hex4(r);
        if (low < 0xDC00 || low > 0xDFFF)
            return reader_fail(r, "a string has half of a character");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    put_utf8(out, size, n, (unsigned)code);
    return true;
}

/* Reads a string behind its first quote; one that does not fit is cut, and then *n is not below size. */
static bool read_string(struct reader *r, char *out, size_t size, size_t *n)
{
    *n = 0;
    while (r->at < r->end && *r->at != '"') {
        if (*r->at == '\\') {
            r->at++;
            if (!read_escape(r, out, size, n))
                return false;
        } else {
            if ((unsigned char)*r->at < ' ')
                return reader_fail(r, "a string has a control character");
            if (*n < size)
                out[*n] = *r->at;
            ++*n;
            r->at++;
        }
    }
    if (r->at >= r->end)
        return reader_fail(r, "a string does not end");
    r->at++;
    out[*n < size ? *n : size - 1] = '\0';
    return true;
}

bool metric_number_read(const char *text, size_t size, double *value)
{
    char word[METRIC_NUMBER_MAX], *rest;

    while (size > 0 && (*text == ' ' || *text == '\t')) {
        text++;
        size--;
    }
    while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\t' || text[size - 1] == '\r'))
        size--;
    if (size == 0 || size >= sizeof word || memchr(text, '\0', size) != NULL)
        return false;
    memcpy(word, text, size);
    word[size] = '\0';
    if (strpbrk(word, "xX(") != NULL) /* strtod() knows hexadecimal numbers */
        return false;
    *value = strtod(word, &rest);
    return *rest == '\0';
}

static bool skip_value(struct reader *r, int depth);

static bool skip_list(struct reader *r, char close, int depth)
{
    size_t n;
    char key[2];

    if (depth > DEPTH_MAX)
        return reader_fail(r, "objects lie too deep in each other");
    if (next_is(r, close))
        return true;
    do {
        if (close == '}' && (!next_is(r, '"') || !read_string(r, key, sizeof key, &n) || !next_is(r, ':')))
            return reader_fail(r, "it is no JSON");
        if (!skip_value(r, depth + 1))
            return false;
    } while (next_is(r, ','));
    return next_is(r, close) || reader_fail(r, "it is no JSON");
}

static size_t word_size(const struct reader *r)
{
    const char *p = r->at;

    while (p < r->end && *p != ',' && *p != '}' && *p != ']' && *p != ' ' && *p != '\t' && *p != '\r')
        p++;
    return (size_t)(p - r->at);
}

static bool is_word(const char *text, size_t size, const char *word)
{
    return strlen(word) == size && memcmp(text, word, size) == 0;
}

static bool skip_value(struct reader *r, int depth)
{
    size_t n;
    char text[2];

    if (next_is(r, '{'))
        return skip_list(r, '}', depth);
    if (next_is(r, '['))
        return skip_list(r, ']', depth);
    if (next_is(r, '"'))
        return read_string(r, text, sizeof text, &n);
    n = word_size(r);
    if (n == 0)
        return reader_fail(r, "it is no JSON");
    r->at += n;
    return true;
}

/* A value of a key: a number, a text or neither. */
struct value {
    bool is_number, is_text;
    double number;
    char text[POINTS_NAME_MAX + 2];
    size_t size;
};

static bool read_value(struct reader *r, struct value *v)
{
    size_t n;

    v->is_number = v->is_text = false;
    reader_skip_blanks(r);
    if (r->at < r->end && (*r->at == '{' || *r->at == '['))
        return skip_value(r, 1);
    if (next_is(r, '"')) {
        if (!read_string(r, v->text, sizeof v->text, &v->size))
            return false;
        v->is_text = true;
        v->is_number =
            v->size < sizeof v->text && metric_number_read(v->text, v->size, &v->number) && !isfinite(v->number);
        return true;
    }
    n = word_size(r);
    if (n == 0)
        return reader_fail(r, "it is no JSON");
    if (!is_word(r->at, n, "null") && !is_word(r->at, n, "true") && !is_word(r->at, n, "false")) {
        if (!metric_number_read(r->at, n, &v->number))
            return reader_fail(r, "a value is no number");
        v->is_number = true;
    }
    r->at += n;
    return true;
}

/* The special keys of a line. */
struct keys {
    bool has_name, has_value, has_epoch;
    char name[POINTS_NAME_MAX + 1];
    double value, epoch;
};

bool metric_line_step(struct metric_line *line, double value)
{
    if (!isfinite(value) || fabs(value) > (double)POINTS_STEP_MAX)
        return false;
    line->has_step = true;
    line->step = (int64_t)value;
    return true;
}

void metric_line_add(struct metric_line *line, const char *name, double value)
{
    if (line->n == METRIC_VALUES_MAX)
        return;
    strcpy(line->values[line->n].name, name);
    line->values[line->n++].value = value;
}

static bool take_pair(struct reader *r, const char *key, const struct value *v, struct metric_line *line,
                      struct keys *keys)
{
    if (strcmp(key, "name") == 0 && v->is_text) {
        if (v->size > POINTS_NAME_MAX || strlen(v->text) != v->size || !points_name_valid(v->text))
            return reader_fail(r, "a name is empty, too long or no text");
        keys->has_name = true;
        strcpy(keys->name, v->text);
        return true;
    }
    if (!v->is_number)
        return true;
    if (strcmp(key, "step") == 0)
        return metric_line_step(line, v->number) || reader_fail(r, "a step is no number that can be");
    if (strcmp(key, "time") == 0) {
        line->time = v->number;
        return true;
    }
    if (strcmp(key, "value") == 0) {
        keys->has_value = true;
        keys->value = v->number;
        return true;
    }
    if (strcmp(key, "epoch") == 0) {
        keys->has_epoch = true;
        keys->epoch = v->number;
    }
    if (!points_name_valid(key))
        return reader_fail(r, "a name is empty, too long or no text");
    metric_line_add(line, key, v->number);
    return true;
}

static void metric_line_drop(struct metric_line *line, const char *name)
{
    for (size_t i = 0; i < line->n; i++)
        if (strcmp(line->values[i].name, name) == 0) {
            memmove(&line->values[i], &line->values[i + 1], (line->n - i - 1) * sizeof *line->values);
            line->n--;
            return;
        }
}

static bool read_object(struct reader *r, struct metric_line *line, struct keys *keys)
{
    char key[POINTS_NAME_MAX + 2];
    struct value v;
    size_t n;

    if (!next_is(r, '{'))
        return reader_fail(r, "it is no JSON object");
    if (next_is(r, '}'))
        return true;
    do {
        if (!next_is(r, '"') || !read_string(r, key, sizeof key, &n) || !next_is(r, ':'))
            return reader_fail(r, "it is no JSON");
        if (!read_value(r, &v))
            return false;
        if (n > POINTS_NAME_MAX || strlen(key) != n)
            key[0] = '\0';
        if (!take_pair(r, key, &v, line, keys))
            return false;
    } while (next_is(r, ','));
    if (!next_is(r, '}'))
        return reader_fail(r, "it is no JSON");
    reader_skip_blanks(r);
    return r->at == r->end || reader_fail(r, "something follows the object");
}

int metric_line_json(const char *text, size_t size, struct metric_line *line, const char **why)
{
    struct reader r = {.at = text, .end = text + size};
    struct keys keys = {0};

    line->has_step = false;
    line->time = NAN;
    line->n = 0;
    if (!read_object(&r, line, &keys)) {
        *why = r.why;
        return -1;
    }
    if (!line->has_step && keys.has_epoch && metric_line_step(line, keys.epoch))
        metric_line_drop(line, "epoch");
    if (keys.has_name && keys.has_value) {
        line->n = 0;
        metric_line_add(line, keys.name, keys.value);
    } else if (keys.has_value && !keys.has_name) {
        metric_line_add(line, "value", keys.value);
    }
    return 0;
}
