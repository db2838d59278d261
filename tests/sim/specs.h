/* What schedules are like: by their seeds, and drawn. */
#ifndef TESTS_SIM_SPECS_H
#define TESTS_SIM_SPECS_H
#include "tests/sim/sim.h"

/* Nothing ever fails in some; in some most ensembles have trainings, which run elsewhere, in few places; in some, members run in
 * allocations. */
bool spec_is_calm(uint64_t seed);
bool spec_is_crossed(uint64_t seed);
bool spec_has_pilots(uint64_t seed);

/* An ensemble: a new reference. */
json_t *spec_random(struct sim *sim, uint64_t seed);
#endif
