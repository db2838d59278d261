/* The slots of jobs: the rows, resources and paths that belong to them. */
#ifndef DAEMON_ENGINE_SLOT_H
#define DAEMON_ENGINE_SLOT_H

struct engine;
struct live_job;
struct slot;

struct member_row slot_member(const struct live_job *job, const struct slot *slot); /* the row of an open slot */
struct ckpt_chain slot_chain(const struct live_job *job, const struct slot *slot);
/* Returns what each of its members, or ranks, asks for; not of a pilot. */
const struct adapter_resources *job_resources(const struct live_job *job);
/* Returns the path of the slot's exit record, to be freed. */
char *slot_exit_path(const struct engine *engine, const struct live_job *job, const struct slot *slot);

#endif
