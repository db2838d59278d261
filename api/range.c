#include "api/range.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Reads digits as a number of at most INT64_MAX, and moves *text behind them. Returns false if there are none. */
static bool read_range_digits(const char **text, int64_t *n)
{
    const char *start = *text;

    for (*n = 0; **text >= '0' && **text <= '9'; (*text)++)
        *n = *n > (INT64_MAX - 9) / 10 ? INT64_MAX - 9 : *n * 10 + (**text - '0');
    return *text > start;
}

enum range_answer range_parse(const char *text, int64_t size, int64_t *first, int64_t *end)
{
    int64_t a, b;
    bool has_a, has_b;

    *first = 0;
    *end = size;
    if (text == NULL || strncasecmp(text, "bytes=", 6) != 0)
        return RANGE_ALL;
    text += 6;
    has_a = read_range_digits(&text, &a);
    if (*text++ != '-')
        return RANGE_ALL;
    has_b = read_range_digits(&text, &b);
    if (*text != '\0' || (!has_a && !has_b) || (has_a && has_b && b < a))
        return RANGE_ALL;
    if ((has_a && a >= size) || (!has_a && (b == 0 || size == 0)))
        return RANGE_UNSATISFIABLE;
    if (has_a) {
        *first = a;
        if (has_b && b < size)
            *end = b + 1;
    } else if (b < size) {
        *first = size - b;
    }
    return RANGE_PART;
}
