/* Giving the places of an adapter to ensembles. */
#ifndef DAEMON_ENGINE_SCHEDULE_H
#define DAEMON_ENGINE_SCHEDULE_H
#include <stdbool.h>
#include <stdint.h>

struct adapter_resources;
struct engine;
struct job_row;
struct known_adapter;
struct live_ensemble;
struct live_job;

/* Returns the slots of each node if a job has nodes to itself, else 0. */
int64_t schedule_node_slots(const struct known_adapter *adapter);
void schedule_account(struct live_job *job, int sign); /* counts a job that begins (1) or ends (-1) */
void schedule_note_run(struct live_job *job);
void schedule_enter(struct engine *engine,
                    struct live_ensemble *ens); /* when it may want slots, or may not any longer */
void schedule_leave(struct engine *engine, struct live_ensemble *ens); /* when it is over */
void schedule_adapters(struct engine *engine);
bool schedule_may_train(struct engine *engine, struct live_ensemble *ens);
/* Returns whether the ensemble's jobs of members, or its pilots, fit beside the trainings that run and the one that is
 * next to start. */
bool schedule_fits_beside_trainings(const struct live_ensemble *ens);
/* Returns whether jobs with these resources could run at the same time. */
bool schedule_fit_together(const struct known_adapter *adapter, const struct adapter_resources *a,
                           const struct adapter_resources *b);
/* Returns the ensemble whose training is the next to start on the adapter, or NULL if none waits. */
struct live_ensemble *schedule_next_to_train(const struct known_adapter *adapter);
int64_t schedule_cpus_of(const struct live_job *job); /* slots that it has, or waits for, on its adapter */
/* Returns whether the jobs on the adapter, without those that are being stopped, and `more` (NULL for nothing) need
 * more than it has. An adapter that says nothing of its places is never full. */
bool schedule_is_full(const struct engine *engine, const struct known_adapter *adapter,
                      const struct adapter_resources *more);
/* Returns whether the jobs on the adapter of an ensemble's members, without those that are being stopped, leave no
 * place for one more job of members. */
bool schedule_takes_no_members(const struct engine *engine, const struct live_ensemble *ens);

#endif
