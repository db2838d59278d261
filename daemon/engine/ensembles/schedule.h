/* Decides which ensembles want places of an adapter (give_places.h), and whether a training may start beside others. */
#ifndef DAEMON_ENGINE_ENSEMBLES_SCHEDULE_H
#define DAEMON_ENGINE_ENSEMBLES_SCHEDULE_H
#include <stdbool.h>
#include <stdint.h>

struct engine;
struct known_adapter;
struct live_ensemble;

/* Enters an ensemble that may want slots, or may not any longer. */
void schedule_enter(struct engine *engine, struct live_ensemble *ens);
void schedule_leave(struct engine *engine, struct live_ensemble *ens); /* when it is over */
void schedule_leave_queue(struct live_ensemble *ens);                  /* it wants none for now */
void schedule_requeue(struct live_ensemble *ens, int64_t order); /* it wants more: those with the least come first */
bool schedule_may_train(struct engine *engine, struct live_ensemble *ens);
/* Returns whether the ensemble's jobs of members, or its pilots, fit beside the trainings that run and the one that is
 * next to start. */
bool schedule_fits_beside_trainings(const struct live_ensemble *ens);
/* Returns the ensemble whose training is the next to start on the adapter, or NULL if none waits. */
struct live_ensemble *schedule_next_to_train(const struct known_adapter *adapter);

#endif
