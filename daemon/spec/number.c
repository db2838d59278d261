#include "daemon/spec/number.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_decimal_digits(const char *p)
{
    while (*p >= '0' && *p <= '9')
        p++;
    return p;
}

/* Returns the end of the decimal number that begins at p, or NULL if none does. */
static const char *scan_number(const char *p, bool *integer)
{
    const char *whole, *end;
    bool any;

    p += *p == '+' || *p == '-';
    whole = p;
    end = skip_decimal_digits(p);
    if (end - whole > 1 && *whole == '0')
        return NULL;
    any = end > whole;
    *integer = true;
    if (*end == '.') {
        p = end + 1;
        end = skip_decimal_digits(p);
        any = any || end > p;
        *integer = false;
    }
    if (any && (*end == 'e' || *end == 'E')) {
        p = end + 1;
        p += *p == '+' || *p == '-';
        end = skip_decimal_digits(p);
        any = end > p;
        *integer = false;
    }
    return any ? end : NULL;
}

bool number_parse(const char *text, json_t **out)
{
    const char *from = text + strspn(text, " \t"), *end;
    bool integer;

    end = scan_number(from, &integer);
    if (end == NULL || end[strspn(end, " \t")] != '\0')
        return false;
    if (integer) {
        long long n;

        errno = 0;
        n = strtoll(from, NULL, 10);
        *out = errno == 0 ? json_integer(n) : NULL; /* a double would have other digits */
    } else {
        double x = strtod(from, NULL); /* reads a decimal point, since the daemon never leaves the C locale */

        *out = isfinite(x) ? json_real(x) : NULL;
    }
    return true;
}

const char *number_excess(const char *text)
{
    return strpbrk(text, ".eE") != NULL
               ? "is beyond what a double holds"
               : "has more than the 63 bits of an integer; in double quotes it is a text that keeps its digits";
}
