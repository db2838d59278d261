/* Points of the unit cube by index. These functions are pure, and the same on every machine and for ever, because a
 * member's parameters are computed again whenever they are needed. Changing any of them would change old ensembles. */
#ifndef DAEMON_SPEC_DRAW_H
#define DAEMON_SPEC_DRAW_H
#include <stdint.h>

#define DRAW_HALTON_DIMENSIONS 64

/* Mixes three numbers into 64 bits (SplitMix64's finaliser, chained). */
uint64_t draw_bits(uint64_t seed, uint64_t a, uint64_t b);

/* A random number in [0, 1), for the coordinate `dim` of point `index`; so are the results of the other two
 * functions. */
double draw_monte_carlo(uint64_t seed, uint64_t index, unsigned dim);
/* The Halton sequence in the dim-th prime base, from its second point on. Each dimension is rotated by a random shift
 * (Cranley and Patterson 1976) unless seed is 0. dim must be below DRAW_HALTON_DIMENSIONS. */
double draw_halton(uint64_t seed, uint64_t index, unsigned dim);
/* A Latin hypercube of `count` points. The strata are visited in the order of a keyed permutation of 0..count-1, which
 * is computed and never stored. index must be below count. */
double draw_latin_hypercube(uint64_t seed, uint64_t index, uint64_t count, unsigned dim);
#endif
