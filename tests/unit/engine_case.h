/* The simulated cluster, for tests of the engine that try one thing at a time. A violation that the watchers find fails
 * the test. */
#ifndef TESTS_UNIT_ENGINE_CASE_H
#define TESTS_UNIT_ENGINE_CASE_H
#include "daemon/engine/memory/core.h"
#include "daemon/engine/engine.h"
#include "tests/sim/sim.h"
#include "tests/unit/unit.h"

extern struct sim *sim;
extern int64_t id; /* of the ensemble that was submitted last */
extern struct error err;
extern struct sim_faults faults;

/* Begins a cluster with these faults; times that are 0 get others, which suit most tests. */
void begin(uint64_t seed, struct sim_faults with);
void end(void);
/* Submits an ensemble of `count` members to the first adapter. `more` is taken over, and updates the spec. */
void submit(int count, int pack, json_t *more);
void step(void);
void until(const char *sql); /* the query's number is not 0 */
void run_for(int64_t ms);
void until_over(void);
json_t *training(int retries); /* for `more` */
json_t *allocation(void);
/* From now on something fails as well. */
void set_faults(struct sim_faults with);
#endif
