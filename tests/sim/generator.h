/* A generator: suggests members to the open ensembles of a schedule, by names, and closes them. It does not know
 * whether a call that was not answered has arrived, and makes it again. */
#ifndef TESTS_SIM_GENERATOR_H
#define TESTS_SIM_GENERATOR_H
#include "tests/sim/sim.h"

struct generator;

struct generator *generator_create(struct sim *sim);
void generator_destroy(struct generator *generator);
/* Makes the next call about any open ensemble, if there is one, and ends its turn. Returns whether there was one. */
bool generator_act(struct generator *generator);
/* Verifies that each suggestion that was answered is one member. */
void generator_check(struct generator *generator);
#endif
