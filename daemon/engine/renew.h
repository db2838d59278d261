/* Begins a training anew that ended badly, with the next generation of its ranks. All that the former generation had
 * learnt and received is lost with its processes, so every member runs again from its start. */
#ifndef DAEMON_ENGINE_RENEW_H
#define DAEMON_ENGINE_RENEW_H
#include "daemon/engine/internal.h"

/* Returns whether a training may be begun anew whose job is over without success. If not all of its ranks could be
 * `reached`, the failure is its own, and would come again, unless a rank was lost; and a training that ran out of time
 * would do so again. */
bool renew_may(const struct live_ensemble *ens, bool reached);

/* Makes the training pending again with a new generation, and also its members, from their start, except those that
 * failed. Members that still run are stopped. */
void renew_training(struct engine *engine, struct live_ensemble *ens, const char *reason);

/* Has the new generation submitted a while after the former one ended, longer each time. Also called after a
 * restart. */
void renew_wait(struct engine *engine, struct live_ensemble *ens);

/* Returns whether this job of members was made for a former generation. Whatever its attempts sent is lost, no matter
 * how they end. */
bool renew_is_stale(const struct live_job *job);

/* Stops jobs that are stale. There may be thousands, so each turn stops some. Also called after a restart. */
void renew_stop_stale(struct engine *engine, struct live_ensemble *ens);

/* Returns whether members of the ensemble may be started. After a training has begun anew they may not before all
 * members that are to run again are pending. */
bool renew_lets_start(const struct live_ensemble *ens);
#endif
