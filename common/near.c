#include "common/near.h"

#include <stddef.h>
#include <string.h>

#define LETTERS 64 /* longer words are near to none */

static size_t shorter_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns how many letters must be changed, added, left out, or swapped with their neighbours. */
static size_t word_distance(const char *a, const char *b)
{
    size_t rows[3][LETTERS + 1], *now = rows[0], *before = rows[1], *earlier = rows[2], *next, n = strlen(b);

    for (size_t k = 0; k <= n; k++)
        now[k] = k;
    for (size_t i = 1; i <= strlen(a); i++) {
        next = earlier;
        earlier = before;
        before = now;
        now = next;
        now[0] = i;
        for (size_t k = 1; k <= n; k++) {
            now[k] = shorter_of(shorter_of(before[k], now[k - 1]) + 1, before[k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                now[k] = shorter_of(now[k], earlier[k - 2] + 1);
        }
    }
    return now[n];
}

const char *near_find(const char *typed, const char *const *words)
{
    const char *found = NULL;
    size_t best = strlen(typed) < 6 ? 1 : strlen(typed) / 3, d;

    if (strlen(typed) > LETTERS)
        return NULL;
    for (; *words != NULL; words++) {
        d = strlen(*words) <= LETTERS ? word_distance(typed, *words) : best + 1;
        if (d > best || (d == best && found != NULL) || d >= strlen(*words))
            continue;
        best = d;
        found = *words;
    }
    return found;
}
