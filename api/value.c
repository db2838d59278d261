#include "api/value.h"

#include "common/jsonx.h"
#include "common/timefmt.h"
#include "common/xalloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the length of the well-formed UTF-8 sequence at s (RFC 3629), 0 if there is none. */
static size_t utf8_sequence(const unsigned char *s)
{
    unsigned char low = 0x80, high = 0xBF;
    size_t n, i;

    if (s[0] < 0x80)
        return 1;
    if (s[0] >= 0xC2 && s[0] <= 0xDF)
        n = 2;
    else if (s[0] >= 0xE0 && s[0] <= 0xEF)
        n = 3;
    else if (s[0] >= 0xF0 && s[0] <= 0xF4)
        n = 4;
    else
        return 0;
    /* no overlong forms, no surrogates, nothing above U+10FFFF */
    if (s[0] == 0xE0)
        low = 0xA0;
    else if (s[0] == 0xED)
        high = 0x9F;
    else if (s[0] == 0xF0)
        low = 0x90;
    else if (s[0] == 0xF4)
        high = 0x8F;
    if (s[1] < low || s[1] > high)
        return 0;
    for (i = 2; i < n; i++) {
        if (s[i] < 0x80 || s[i] > 0xBF)
            return 0;
    }
    return n;
}

static json_t *or_null(json_t *value)
{
    return value != NULL ? value : json_null();
}

json_t *value_text(const char *text)
{
    json_t *value = json_string(text);
    const unsigned char *in = (const unsigned char *)text;
    char *clean, *out;

    if (value != NULL)
        return value;
    clean = out = xcalloc(strlen(text) + 1, 3);
    while (*in) {
        size_t n = utf8_sequence(in);

        memcpy(out, n > 0 ? (const char *)in : "\xEF\xBF\xBD", n > 0 ? n : 3);
        out += n > 0 ? n : 3;
        in += n > 0 ? n : 1;
    }
    value = json_string(clean);
    free(clean);
    return or_null(value);
}

json_t *value_text_or_null(const char *text)
{
    return text != NULL && *text ? value_text(text) : json_null();
}

json_t *value_or_null(json_t *value)
{
    return value != NULL ? value : json_null();
}

json_t *value_time(int64_t ms)
{
    char buf[TIMEFMT_SIZE];

    return ms != 0 ? value_text(timefmt_iso(buf, ms)) : json_null();
}

json_t *value_seconds(int64_t ms, bool known)
{
    return known ? value_real((double)ms / 1000) : json_null();
}

json_t *value_real(double x)
{
    return isfinite(x) ? or_null(json_real(x)) : json_null();
}

json_t *value_metric(double x)
{
    return or_null(text_metric_json(x));
}

void value_put_real(struct text *text, double x)
{
    char digits[TEXT_REAL];

    text_string(text, isfinite(x) ? text_real(digits, x) : "null");
}

void value_put_metric(struct text *text, double x)
{
    char word[TEXT_REAL];

    if (isinf(x))
        text_add(text, "\"%s\"", text_real(word, x));
    else
        value_put_real(text, x);
}

void value_put_time(struct text *text, int64_t ms)
{
    char time[TIMEFMT_SIZE];

    if (ms != 0)
        text_add(text, "\"%s\"", timefmt_iso(time, ms));
    else
        text_add(text, "null");
}

char *value_dump(const json_t *value)
{
    char *text = jsonx_dumps(value, JSON_COMPACT), *line;
    size_t size;

    if (text == NULL)
        return NULL;
    size = strlen(text);
    line = realloc(text, size + 2);
    if (line == NULL) {
        free(text);
        return NULL;
    }
    memcpy(line + size, "\n", 2);
    return line;
}
