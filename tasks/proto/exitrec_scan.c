/* Reads most exit records without making JSON objects: those whose keys are in the order of exitrec_json(), without
 * blanks and escapes. Any other record, right or wrong, is left to exitrec_parse(). */
#include "tasks/proto/exitrec.h"

#include "common/text.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define INT_DIGITS 17 /* an integer of so many digits fits into a double and into an int64_t */

/* Returns the text after `expected`, or NULL where it is not there. */
static const char *after(const char *p, const char *expected)
{
    size_t n = strlen(expected);

    return strncmp(p, expected, n) == 0 ? p + n : NULL;
}

static const char *take_string(const char *p, char *out, size_t size)
{
    const char *from = p + 1;
    size_t n;

    if (*p != '"')
        return NULL;
    for (p = from; *p != '"'; p++)
        if (*p < ' ' || *p > '~' || *p == '\\')
            return NULL;
    n = (size_t)(p - from) < size - 1 ? (size_t)(p - from) : size - 1;
    memcpy(out, from, n);
    out[n] = '\0';
    return p + 1;
}

static const char *take_name(const char *p, char out[64])
{
    char whole[65];

    p = take_string(p, whole, sizeof whole);
    if (p == NULL || whole[0] == '\0' || strlen(whole) > 63)
        return NULL;
    text_copy(out, 64, whole);
    return p;
}

static const char *skip_digits(const char *p)
{
    while (*p >= '0' && *p <= '9')
        p++;
    return p;
}

static const char *take_integer(const char *p, int64_t min, int64_t max, int64_t *out)
{
    const char *end = skip_digits(p);

    if (end == p || end - p > INT_DIGITS || (*p == '0' && end > p + 1) || *end == '.' || *end == 'e' || *end == 'E')
        return NULL;
    *out = strtoll(p, NULL, 10);
    return *out < min || *out > max ? NULL : end;
}

/* Reads an integer, or null, which gives `none`. */
static const char *take_or_null(const char *p, int64_t min, int64_t max, int none, int *out)
{
    int64_t n = none;

    p = *p == 'n' ? after(p, "null") : take_integer(p, min, max, &n);
    *out = (int)n;
    return p;
}

/* Returns the end of the digits after the character at p; NULL where there are none. */
static const char *more_digits(const char *p)
{
    const char *end = skip_digits(p + 1);

    return end > p + 1 ? end : NULL;
}

static const char *take_number(const char *p, double *out)
{
    const char *digits = p + (*p == '-'), *end = skip_digits(digits);
    char *read;

    if (end == digits || end - digits > INT_DIGITS || (*digits == '0' && end > digits + 1))
        return NULL;
    if (*end == '.' && (end = more_digits(end)) == NULL)
        return NULL;
    if ((*end == 'e' || *end == 'E') && (end = more_digits(end + (end[1] == '-' || end[1] == '+'))) == NULL)
        return NULL;
    *out = strtod(p, &read);
    return read == end && isfinite(*out) ? end : NULL;
}

static const char *take_outcome(const char *p, enum exitrec_outcome *out)
{
    char word[16];

    p = take_string(p, word, sizeof word);
    for (*out = EXITREC_SUCCEEDED; p != NULL && *out <= EXITREC_CANCELLED; (*out)++)
        if (strcmp(word, exitrec_outcome_name(*out)) == 0)
            return p;
    return NULL;
}

/* Reads the value of a key that must come next. */
#define TAKE(key, taken) ((p = after(p, ",\"" key "\":")) != NULL && (p = (taken)) != NULL)

const char *exitrec_scan(const char *p, struct exitrec *rec)
{
    const char *late;

    memset(rec, 0, offsetof(struct exitrec, reason));
    rec->checkpoints = rec->resumed = rec->artefacts = rec->ran = NULL;
    rec->notice[0] = '\0';
    p = after(p, "{\"version\":1");
    if (p == NULL || !TAKE("job", take_name(p, rec->job)) || !TAKE("id", take_name(p, rec->id)) ||
        !TAKE("host", take_string(p, rec->host, sizeof rec->host)) || !TAKE("started", take_number(p, &rec->started)) ||
        !TAKE("ended", take_number(p, &rec->ended)) || !TAKE("outcome", take_outcome(p, &rec->outcome)) ||
        !TAKE("exit_code", take_or_null(p, 0, 255, -1, &rec->exit_code)) ||
        !TAKE("signal", take_or_null(p, 1, 127, 0, &rec->signal)) ||
        !TAKE("reason", take_string(p, rec->reason, sizeof rec->reason)) ||
        !TAKE("user_seconds", take_number(p, &rec->user_seconds)) ||
        !TAKE("system_seconds", take_number(p, &rec->system_seconds)) ||
        !TAKE("max_rss", take_integer(p, 0, INT64_MAX, &rec->max_rss)))
        return NULL;
    late = after(p, ",\"late\":true");
    rec->late = late != NULL;
    p = late != NULL ? late : p;
    return *p != '}' || (rec->outcome == EXITREC_SUCCEEDED && rec->exit_code != 0) ? NULL : p + 1;
}
