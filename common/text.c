#include "common/text.h"

#include "common/xalloc.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make_room(struct text *text, size_t more)
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
    make_room(text, size);
    memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void text_add(struct text *text, const char *fmt, ...)
{
    va_list ap, again;
    size_t left;
    int n;

    make_room(text, 0);
    left = text->room - text->size;
    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(text->data + text->size, left, fmt, ap);
    va_end(ap);
    if ((size_t)n >= left) {
        make_room(text, (size_t)n);
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

/* Bytes that stand in a JSON string as they are. */
static size_t plain(const char *s)
{
    static const bool is_plain[256] = {[' ' ... '"' - 1] = true, ['"' + 1 ... '\\' - 1] = true, ['\\' + 1 ... 0x7f] = true};
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

void text_json_string(struct text *text, const char *string)
{
    size_t n = plain(string);
    json_t *value;

    if (string[n] == '\0') {
        make_room(text, n + 2);
        text_put(text, "\"", 1);
        text_put(text, string, n);
        text_put(text, "\"", 1);
        return;
    }
    value = json_string(string);
    text_json(text, value);
    json_decref(value);
    if (value == NULL)
        text_put(text, "\"\"", 2);
}

void text_json(struct text *text, const json_t *value)
{
    if (value != NULL)
        json_dump_callback(value, put_piece, text, JSON_COMPACT | JSON_ENCODE_ANY);
}
