/* Growing pauses between tries of the same thing. */
#ifndef COMMON_BACKOFF_H
#define COMMON_BACKOFF_H
#include <stdint.h>

/* The pause after `failures` in a row: `first` ms after one, doubled after each other, `most` at most. */
static inline int64_t backoff_ms(int64_t first, int64_t failures, int64_t most)
{
    while (--failures > 0 && first < most)
        first *= 2;
    return first < most ? first : most;
}
#endif
