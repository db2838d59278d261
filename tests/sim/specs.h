/* The kinds of schedules, which follow from their seeds, and ensembles drawn at random. */
#ifndef TESTS_SIM_SPECS_H
#define TESTS_SIM_SPECS_H
#include "tests/sim/sim.h"

/* spec_is_calm(): nothing ever fails. spec_is_crossed(): most ensembles have trainings, which run on another adapter,
 * with few places. spec_has_pilots(): members run in allocations. */
bool spec_is_calm(uint64_t seed);
bool spec_is_crossed(uint64_t seed);
bool spec_has_pilots(uint64_t seed);
bool spec_is_elastic(uint64_t seed);
bool spec_is_open(uint64_t seed); /* members are suggested while their ensemble runs */
bool spec_is_staged(uint64_t seed); /* ensembles begin after others */

bool spec_stops_early(uint64_t seed); /* ensembles without a training have early stopping */

/* Returns a random ensemble, a new reference. */
json_t *spec_random(struct sim *sim, uint64_t seed);
#endif
