/* Points of the unit cube by index: pure functions, the same on every machine and for ever, because a member's
 * parameters are computed again whenever they are needed. Changing any of them changes the meaning of old ensembles. */
#ifndef DAEMON_SPEC_DRAW_H
#define DAEMON_SPEC_DRAW_H
#include <stdint.h>

#define DRAW_HALTON_DIMENSIONS 64

/* 64 well-mixed bits of three numbers (SplitMix64's finaliser, chained). */
uint64_t draw_bits(uint64_t seed, uint64_t a, uint64_t b);

/* Each in [0, 1), for the coordinate `dim` of point `index`. */
double draw_monte_carlo(uint64_t seed, uint64_t index, unsigned dim);
/* Halton sequence in the dim-th prime base, from its second point on, rotated by a random shift a dimension
 * (Cranley and Patterson 1976) unless seed is 0. dim < DRAW_HALTON_DIMENSIONS. */
double draw_halton(uint64_t seed, uint64_t index, unsigned dim);
/* Latin hypercube of `count` points: the strata are visited in the order of a keyed permutation of 0..count-1, which
 * is computed, never stored; index < count. */
double draw_latin_hypercube(uint64_t seed, uint64_t index, uint64_t count, unsigned dim);
#endif
