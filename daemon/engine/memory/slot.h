/* The slots of jobs: the rows, resources and paths that belong to them. */
#ifndef DAEMON_ENGINE_MEMORY_SLOT_H
#define DAEMON_ENGINE_MEMORY_SLOT_H

#include "scheduler-adapters/adapter.h"

#include <stdbool.h>

struct engine;
struct live_job;
struct slot;

struct member_row slot_member(const struct live_job *job, const struct slot *slot); /* the row of an open slot */
struct ckpt_chain slot_chain(const struct live_job *job, const struct slot *slot);
/* Returns what each of its members, or ranks, asks for; not of a pilot. */
const struct adapter_resources *job_resources(const struct live_job *job);
/* Returns what a pilot has asked for: fewer or more CPUs than the next one if the training was resized since. */
struct adapter_resources pilot_resources_of(const struct live_job *job);
void slot_forget_series(struct slot *slot); /* those to which its points are added: it has ended */
/* Returns the path of the slot's exit record, to be freed. */
char *slot_exit_path(const struct engine *engine, const struct live_job *job, const struct slot *slot);

/* Returns whether this job of members was made for a former generation of ranks. The samples of its attempts are then
 * lost, no matter how they end. */
bool job_is_stale(const struct live_job *job);

#endif
