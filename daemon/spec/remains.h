/* The points of a grid, or the draws, that are members if a spec excludes some (exclude.h). They are found when the
 * spec is parsed, by checking each combination of the parameters that are named, and kept as a list. Members are
 * numbered in its order. */
#ifndef DAEMON_SPEC_REMAINS_H
#define DAEMON_SPEC_REMAINS_H
#include "daemon/spec/exclude.h"

#include <stdint.h>

#define REMAINS_WORK_MAX INT64_C(2000000) /* combinations that are looked at, times the objects of "exclude" */

struct remains;

/* Finds the points of a grid, whose last parameter varies fastest. Parameters that come behind those that are named
 * cost nothing. Fails with code "spec_impossible_value" at `at` if none remains, or if there are too many to look
 * at. */
struct remains *remains_of_grid(const struct exclude *exclude, const struct exclude_parameter *parameters, size_t n,
                                const char *at, struct error *err);
/* Finds the first `count` draws that are not excluded; draw() returns a parameter of one. Fails in the same way if
 * these are too far between. */
struct remains *remains_of_draws(const struct exclude *exclude, size_t n, int64_t count,
                                 double (*draw)(void *arg, int64_t point, size_t parameter), void *arg, const char *at,
                                 struct error *err);
void remains_destroy(struct remains *remains);

int64_t remains_count(const struct remains *remains);
/* Returns the point of a member: its index in the whole grid, or the number of its draw. */
int64_t remains_point(const struct remains *remains, int64_t index);

/* Returns which combinations of some parameters occur among the members of a grid: which[i] is a parameter with n[i]
 * values. The result has a flag for each of the product of all n[i], the first parameter varying fastest; to be
 * freed. */
bool *remains_combinations(const struct remains *remains, const struct exclude_parameter *parameters,
                           const size_t *which, const size_t *n, size_t count);
#endif
