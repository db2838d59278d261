/* The places of an adapter: how many jobs take, and whether there is room for more. */
#ifndef DAEMON_ENGINE_MEMORY_PLACES_H
#define DAEMON_ENGINE_MEMORY_PLACES_H
#include <stdbool.h>
#include <stdint.h>

struct adapter_resources;
struct engine;
struct known_adapter;
struct live_ensemble;
struct live_job;

/* Returns the slots of each node if a job has nodes to itself, else 0. */
int64_t places_of_node(const struct known_adapter *adapter);
/* Adds resources to a sum (`sign` -1: subtracts), in the form of one job that asks for all of them together. */
void places_add(const struct known_adapter *adapter, struct adapter_resources *sum, const struct adapter_resources *r,
                int sign);
/* Returns whether the sum of resources fits on the adapter. */
bool places_fit(const struct known_adapter *adapter, const struct adapter_resources *sum);
/* Returns whether jobs with these resources could run at the same time. */
bool places_fit_together(const struct known_adapter *adapter, const struct adapter_resources *a,
                         const struct adapter_resources *b);
int64_t places_cpus_of(const struct live_job *job);  /* slots that it has, or waits for, on its adapter */
void places_account(struct live_job *job, int sign); /* counts a job that begins (1) or ends (-1) */
void places_note_run(struct live_job *job);
/* Returns whether the jobs on the adapter, without those that are being stopped, and `more` (NULL for nothing) need
 * more than it has. An adapter that says nothing of its places is never full. */
bool places_are_full(const struct engine *engine, const struct known_adapter *adapter,
                     const struct adapter_resources *more);
/* Returns whether the jobs on the adapter of an ensemble's members, without those that are being stopped, leave no
 * place for one more job of members. */
bool places_take_no_members(const struct engine *engine, const struct live_ensemble *ens);

#endif
