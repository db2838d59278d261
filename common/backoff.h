/* Pauses that grow between tries of the same thing. */
#ifndef COMMON_BACKOFF_H
#define COMMON_BACKOFF_H
#include <stdint.h>

/* Returns the pause in ms after `failures` failures in a row: `first` after one, then twice as long each time, at most
 * `most`. */
static inline int64_t backoff_ms(int64_t first, int64_t failures, int64_t most)
{
    while (--failures > 0 && first < most)
        first *= 2;
    return first < most ? first : most;
}
#endif
