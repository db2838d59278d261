/* xoshiro256** by Blackman and Vigna (public domain algorithm), seeded through splitmix64: small, fast, the same on
 * every machine. It must not be used for secrets. */
#ifndef TASKS_TRAIN_RANDOM_H
#define TASKS_TRAIN_RANDOM_H
#include <stdint.h>

struct random {
    uint64_t s[4];
};

void random_seed(struct random *r, uint64_t seed);
uint64_t random_next(struct random *r);

/* Returns a number in [0, n), n > 0, uniform and without bias. */
uint64_t random_below(struct random *r, uint64_t n);
#endif
