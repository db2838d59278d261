/* Users: submit the ensembles of a schedule, and make any call about them at any time. They remember what was answered,
 * so that it can be verified later. */
#ifndef TESTS_SIM_USERS_H
#define TESTS_SIM_USERS_H
#include "tests/sim/sim.h"

struct users;

/* `seed` is the schedule's: the kind of ensembles follows from it (specs.h). */
struct users *users_create(struct sim *sim, uint64_t seed);
void users_destroy(struct users *users);

/* Submit an ensemble, and end the turn. It counts as accepted only if the turn was committed. Returns false if it
 * has to be submitted again. */
bool users_submit(struct users *users);
/* Returns whether any was accepted, so that there is something to call about. */
bool users_have_ensembles(const struct users *users);
/* Make any call about any of them, and end the turn. */
void users_call(struct users *users);
/* Resume all: nobody leaves an ensemble paused for ever, nor one that follows up by itself, and was paused for its
 * failures. */
void users_resume_all(struct users *users);
/* When nothing else is under way, users give up the ensembles that wait for one with unfinished members, which nobody
 * follows up any more. Those that may begin have to do so by themselves. */
void users_give_up_stages(struct users *users);

/* Verify that all that was answered still holds; and, when all is over, that what was to go again has done so. */
void users_check(struct users *users);
void users_check_end(struct users *users);
#endif
