#include "tasks/proto/points.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int points_name_valid(const char *name)
{
    size_t size = strlen(name);
    bool ascii = true;
    json_t *text;

    if (size == 0 || size > POINTS_NAME_MAX)
        return 0;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        if (*c < ' ' || *c == 0x7f)
            return 0;
        ascii = ascii && *c < 0x80;
    }
    if (ascii)
        return 1;
    text = json_stringn(name, size); /* refuses what is not UTF-8 */
    json_decref(text);
    return text != NULL;
}

size_t points_write(char out[POINTS_LINE_MAX], const char *name, const struct points_point *p)
{
    int n = snprintf(out, POINTS_LINE_MAX, "%s\t%" PRId64 "\t%" PRId64 "\t%.17g\t%.9g", name, p->step, p->time_ms,
                     p->last, p->area);

    if (p->count > 1)
        n += snprintf(out + n, POINTS_LINE_MAX - (size_t)n,
                      "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%.17g\t%.17g\t%.17g\t%.9g", p->count,
                      p->last_step, p->last_time_ms, p->not_finite, p->first, p->min, p->max, p->within);
    out[n++] = '\n';
    return (size_t)n;
}

size_t points_write_notice(char out[POINTS_LINE_MAX], const char *notice)
{
    size_t n = (size_t)snprintf(out, POINTS_NOTICE_MAX, "\t%s", notice);

    n = n < POINTS_NOTICE_MAX ? n : POINTS_NOTICE_MAX - 1;
    for (size_t i = 1; i < n; i++)
        out[i] = (unsigned char)out[i] < ' ' ? ' ' : out[i];
    out[n++] = '\n';
    return n;
}

int points_read_notice(const char *line, const char *end, char notice[POINTS_NOTICE_MAX])
{
    size_t n = (size_t)(end - line);

    if (n < 1 || n >= POINTS_NOTICE_MAX || line[0] != '\t' || memchr(line + 1, '\t', n - 1) != NULL)
        return -1;
    memcpy(notice, line + 1, n - 1);
    notice[n - 1] = '\0';
    return 0;
}

/* Both read a field behind a tab; false if there is none. */
static bool take_integer(const char **at, const char *end, int64_t least, int64_t most, int64_t *out)
{
    char *rest;

    if (*at >= end || **at != '\t' || (*at)[1] == ' ' || (*at)[1] == '\t')
        return false;
    *out = strtoll(*at + 1, &rest, 10);
    if (rest == *at + 1 || rest > end || *out < least || *out > most)
        return false;
    *at = rest;
    return true;
}

static bool take_real(const char **at, const char *end, double *out)
{
    char *rest;

    if (*at >= end || **at != '\t' || (*at)[1] == ' ' || (*at)[1] == '\t')
        return false;
    *out = strtod(*at + 1, &rest);
    if (rest == *at + 1 || rest > end)
        return false;
    *at = rest;
    return true;
}

static bool take_merged(const char *at, const char *end, struct points_point *p)
{
    return take_integer(&at, end, 2, INT64_MAX / 2, &p->count) &&
           take_integer(&at, end, p->step, POINTS_STEP_MAX, &p->last_step) &&
           take_integer(&at, end, 0, INT64_MAX / 2, &p->last_time_ms) &&
           take_integer(&at, end, 0, p->count, &p->not_finite) && take_real(&at, end, &p->first) &&
           take_real(&at, end, &p->min) && take_real(&at, end, &p->max) && take_real(&at, end, &p->within) &&
           at == end && !isinf(p->min) && !isinf(p->max) && isfinite(p->within);
}

int points_read(const char *line, const char *end, char name[POINTS_NAME_MAX + 1], struct points_point *p)
{
    const char *at = memchr(line, '\t', (size_t)(end - line));

    if (at == NULL || at - line > POINTS_NAME_MAX || end - line >= POINTS_LINE_MAX)
        return -1;
    memcpy(name, line, (size_t)(at - line));
    name[at - line] = '\0';
    if (!points_name_valid(name) || !take_integer(&at, end, -POINTS_STEP_MAX, POINTS_STEP_MAX, &p->step) ||
        !take_integer(&at, end, 0, INT64_MAX / 2, &p->time_ms) || !take_real(&at, end, &p->last) ||
        !take_real(&at, end, &p->area) || !isfinite(p->area))
        return -1;
    if (at < end)
        return take_merged(at, end, p) ? 0 : -1;
    p->last_step = p->step;
    p->last_time_ms = p->time_ms;
    p->count = 1;
    p->not_finite = !isfinite(p->last);
    p->first = p->last;
    p->min = p->max = isfinite(p->last) ? p->last : NAN;
    p->within = 0;
    return 0;
}
