#include "common/text.h"

#include "common/xalloc.h"

#include <stdarg.h>
#include <stdbool.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void text_make_room(struct text *text, size_t more)
{
    if (text->size + more + 1 <= text->room)
        return;
    text->room = 2 * (text->size + more + 1);
    if (text->room < 128)
        text->room = 128;
    text->data = xrealloc(text->data, text->room, 1);
}

void text_put(struct text *text, const char *bytes, size_t size)
{
    text_make_room(text, size);
    memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void text_string(struct text *text, const char *string)
{
    text_put(text, string, strlen(string));
}

char *text_digits(char out[TEXT_DIGITS], int64_t n)
{
    char digits[TEXT_DIGITS], *p = digits + sizeof digits;
    uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;

    *--p = '\0';
    do
        *--p = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (n < 0)
        *--p = '-';
    memcpy(out, p, (size_t)(digits + sizeof digits - p));
    return out + (digits + sizeof digits - p) - 1;
}

void text_number(struct text *text, int64_t n)
{
    char digits[TEXT_DIGITS];

    text_put(text, digits, (size_t)(text_digits(digits, n) - digits));
}

void text_add(struct text *text, const char *fmt, ...)
{
    va_list ap, again;
    size_t left;
    int n;

    text_make_room(text, 0);
    left = text->room - text->size;
    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(text->data + text->size, left, fmt, ap);
    va_end(ap);
    if ((size_t)n >= left) {
        text_make_room(text, (size_t)n);
        vsnprintf(text->data + text->size, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    text->size += (size_t)n;
}

void text_copy(char *out, size_t size, const char *string)
{
    size_t n = strnlen(string, size - 1);

    memcpy(out, string, n);
    out[n] = '\0';
}

/* Returns how many bytes at `s` stand in a JSON string as they are, without an escape. */
static size_t plain_json_bytes(const char *s)
{
    static const bool is_plain[256] = {
        [' ' ... '"' - 1] = true, ['"' + 1 ... '\\' - 1] = true, ['\\' + 1 ... 0x7f] = true};
    size_t n = 0;

    while (is_plain[(unsigned char)s[n]])
        n++;
    return n;
}

static int put_piece(const char *bytes, size_t size, void *text)
{
    text_put(text, bytes, size);
    return 0;
}

static void put_by_jansson(struct text *text, const json_t *value)
{
    json_dump_callback(value, put_piece, text, JSON_COMPACT | JSON_ENCODE_ANY);
}

void text_json_string(struct text *text, const char *string)
{
    size_t begin = text->size, n;
    const char *from = string;
    json_t *value;

    text_put(text, "\"", 1);
    while (from[n = plain_json_bytes(from)] == '"' || from[n] == '\\') {
        text_put(text, from, n);
        text_put(text, from[n] == '"' ? "\\\"" : "\\\\", 2);
        from += n + 1;
    }
    if (from[n] == '\0') {
        text_put(text, from, n);
        text_put(text, "\"", 1);
        return;
    }
    text->size = begin; /* the string has a control character or is not ASCII, so that jansson has to write it */
    value = json_string(string);
    if (value != NULL)
        put_by_jansson(text, value);
    else
        text_put(text, "\"\"", 2);
    json_decref(value);
}

char *text_real(char out[TEXT_REAL], double number)
{
    int digits = 15;
    char *to, *from;

    if (!isfinite(number)) {
        text_copy(out, TEXT_REAL, isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
        return out;
    }
    do
        snprintf(out, TEXT_REAL, "%.*g", digits, number);
    while (strtod(out, NULL) != number && digits++ < 17);
    to = strchr(out, 'e');
    if (to == NULL)
        return out;
    from = ++to; /* 1e+18 and 1e-05 become 1e18 and 1e-5 */
    if (*from == '-')
        to++;
    from++;
    from += strspn(from, "0");
    memmove(to, from, strlen(from) + 1);
    return out;
}

/* Writes a real as text_real() does, with a ".0" if it would look like an integer. */
static void put_real(struct text *text, const json_t *value)
{
    char digits[TEXT_REAL];

    text_string(text, text_real(digits, json_real_value(value)));
    if (digits[strspn(digits, "-0123456789")] == '\0') /* it stays a real */
        text_string(text, ".0");
}

static void put_object(struct text *text, const json_t *object)
{
    char separator = '{';
    const char *key;
    json_t *item;

    json_object_foreach ((json_t *)object, key, item) {
        text_put(text, &separator, 1);
        text_json_string(text, key);
        text_put(text, ":", 1);
        text_json(text, item);
        separator = ',';
    }
    text_string(text, separator == '{' ? "{}" : "}");
}

static void put_array(struct text *text, const json_t *array)
{
    const json_t *item;
    size_t i;

    text_put(text, "[", 1);
    json_array_foreach (array, i, item) {
        if (i > 0)
            text_put(text, ",", 1);
        text_json(text, item);
    }
    text_put(text, "]", 1);
}

/* Does without json_dump_callback(), which takes a dozen times as long for the small values that most values are. */
void text_json(struct text *text, const json_t *value)
{
    if (value == NULL)
        return;
    switch (json_typeof(value)) {
    case JSON_OBJECT: put_object(text, value); break;
    case JSON_ARRAY: put_array(text, value); break;
    case JSON_INTEGER: text_number(text, json_integer_value(value)); break;
    case JSON_REAL: put_real(text, value); break;
    case JSON_TRUE: text_string(text, "true"); break;
    case JSON_FALSE: text_string(text, "false"); break;
    case JSON_NULL: text_string(text, "null"); break;
    case JSON_STRING: /* only jansson can write a string that has a NUL in it */
        if (strlen(json_string_value(value)) < json_string_length(value))
            put_by_jansson(text, value);
        else
            text_json_string(text, json_string_value(value));
        break;
    }
}

json_t *text_metric_json(double value)
{
    char text[TEXT_REAL];

    return isnan(value) ? json_null() : isinf(value) ? json_string(text_real(text, value)) : json_real(value);
}

double text_metric_value(const json_t *value)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";

    if (json_is_number(value))
        return json_number_value(value);
    return strcmp(text, "Infinity") == 0 ? INFINITY : strcmp(text, "-Infinity") == 0 ? -INFINITY : NAN;
}
