/* Early stopping that promotes: asynchronous successive halving (ASHA). Rungs are steps of a metric. An attempt goes
 * up to the next rung of its member; there the member arrives, gives its place back, and is "stopped". Of the
 * arrivals at a rung the best 1/reduction are promoted: their members go on from their checkpoints to the next rung.
 * Each arrival is stored in the transaction of its attempt's outcome, together with the promotions that follow from
 * it, so that these are a function of the order of arrivals alone. */
#ifndef DAEMON_ENGINE_RUNGS_H
#define DAEMON_ENGINE_RUNGS_H
#include "daemon/store/member.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct live_ensemble;
struct live_job;
struct outcome;
struct slot;
struct spec;

/* Finds the rung that the next attempt of the member is to reach; 0 if members are not stopped early. Returns 0 or
 * -1. */
int rungs_next(struct engine *engine, const struct live_ensemble *ens, int64_t index, int64_t *rung, struct error *err);
/* Returns whether members never pause at rungs: they run on, or are ended (stop_only.h). */
bool rungs_stop_only(const struct spec *spec);
/* Returns the step up to which an attempt to this rung goes; 0 if it goes to its own end. */
int64_t rungs_until(const struct spec *spec, int64_t rung);
/* Returns the step of a rung, and whether it is the last one. */
int64_t rungs_step(const struct spec *spec, int64_t rung);
bool rungs_is_last(const struct spec *spec, int64_t rung);
/* Completes the outcome of an attempt that had nothing left to do up to its rung: what it was to reach was reported
 * by an attempt before it. Returns 0 or -1. */
int rungs_judge(struct engine *engine, const struct live_job *job, const struct slot *slot, struct outcome *out,
                struct error *err);
/* Notes that a member has reached a rung, if it has: its new state, which is stored, tells. Promotes members. */
void rungs_arrive(struct engine *engine, const struct live_job *job, const struct slot *slot, const struct outcome *out,
                  enum member_state state);
#endif
