/* Early stopping that promotes: asynchronous successive halving (ASHA). Rungs are steps of a metric. An attempt goes up
 * to the next rung of its member; there the member arrives, gives its place back, and is "stopped". Of the arrivals at
 * a rung the best 1/reduction are promoted: their members go on from their checkpoints to the next rung. Each arrival
 * is stored in the transaction of its attempt's outcome, together with the promotions that follow from it. So
 * promotions are a function of the order of arrivals alone. */
#ifndef DAEMON_ENGINE_MEMBERS_RUNGS_H
#define DAEMON_ENGINE_MEMBERS_RUNGS_H
#include "daemon/store/member.h"

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct live_ensemble;
struct live_job;
struct attempt_end;
struct slot;
struct spec;

/* Finds the rung that the next attempt of the member is to reach; 0 if members are not stopped early. Returns 0 or
 * -1. */
int rungs_next(struct engine *engine, const struct live_ensemble *ens, int64_t index, int64_t *rung, struct error *err);
/* Completes the outcome of an attempt that had nothing left to do up to its rung, since an attempt before it had
 * reported the value. Returns 0 or -1. */
int rungs_judge(struct engine *engine, const struct live_job *job, const struct slot *slot, struct attempt_end *out,
                struct error *err);
/* Notes that a member has reached a rung, if its new state, which is stored, says so. Promotes members. */
void rungs_arrive(struct engine *engine, const struct live_job *job, const struct slot *slot,
                  const struct attempt_end *out, enum member_state state);
#endif
