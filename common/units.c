#include "common/units.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DURATION_MAX_MS (INT64_C(100) * 366 * 86400 * 1000)

/* Reads a number that consists of digits only, without a sign or blanks. */
static int digits_parse(const char **p, int64_t *out)
{
    int64_t n = 0;
    const char *s = *p;

    if (!isdigit((unsigned char)*s))
        return -1;
    for (; isdigit((unsigned char)*s); s++) {
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *s - '0', &n))
            return -1;
    }
    *p = s;
    *out = n;
    return 0;
}

/* Reads HH:MM:SS, in which minutes and seconds are below 60. */
static int parse_clock(const char *text, int64_t *ms)
{
    int64_t part, total = 0;
    int parts = 0;

    for (const char *p = text;; p++) {
        if (digits_parse(&p, &part) < 0 || (parts > 0 && part >= 60) || ++parts > 3)
            return -1;
        if (__builtin_mul_overflow(total, 60, &total) || __builtin_add_overflow(total, part, &total))
            return -1;
        if (*p == '\0')
            break;
        if (*p != ':')
            return -1;
    }
    if (parts != 3 || total > DURATION_MAX_MS / 1000)
        return -1;
    *ms = total * 1000;
    return 0;
}

int duration_parse(const char *text, int64_t *ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    int64_t total = 0, last = INT64_MAX;

    if (strchr(text, ':') != NULL)
        return parse_clock(text, ms);
    if (*text == '\0')
        return -1;
    for (const char *p = text; *p != '\0';) {
        int64_t n, scale = 0;
        size_t len;

        if (digits_parse(&p, &n) < 0)
            return -1;
        for (len = 0; isalpha((unsigned char)p[len]); len++)
            ;
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
            if (strlen(units[i].unit) == len && strncmp(units[i].unit, p, len) == 0)
                scale = units[i].ms;
        if (scale == 0 || scale >= last) /* each unit may stand once, larger ones before smaller ones */
            return -1;
        last = scale;
        p += len;
        if (__builtin_mul_overflow(n, scale, &n) || __builtin_add_overflow(total, n, &total) || total > DURATION_MAX_MS)
            return -1;
    }
    *ms = total;
    return 0;
}

int size_parse(const char *text, int64_t *bytes)
{
    static const struct {
        const char *unit;
        int64_t scale;
    } units[] = {{"", 1},
                 {"B", 1},
                 {"kB", 1000},
                 {"MB", 1000000},
                 {"GB", 1000000000},
                 {"TB", 1000000000000},
                 {"KiB", INT64_C(1) << 10},
                 {"MiB", INT64_C(1) << 20},
                 {"GiB", INT64_C(1) << 30},
                 {"TiB", INT64_C(1) << 40}};
    int64_t n;

    if (digits_parse(&text, &n) < 0)
        return -1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text, units[i].unit) == 0)
            return __builtin_mul_overflow(n, units[i].scale, bytes) ? -1 : 0;
    return -1;
}

int umask_parse(const char *text, unsigned *mask)
{
    size_t len = strlen(text);

    if (len < 3 || len > 4 || strspn(text, "01234567") < len)
        return -1;
    *mask = (unsigned)strtoul(text, NULL, 8);
    return (*mask & ~077u) == 0 ? 0 : -1;
}
