/* Jobs that a scheduler has twice under one name. */
#ifndef DAEMON_ENGINE_JOBS_DUPLICATES_H
#define DAEMON_ENGINE_JOBS_DUPLICATES_H
#include <stdbool.h>

struct engine;
struct known_adapter;
struct live_job;

/* Handles the possible duplicates that were reported before the answer that has just been applied, and sets `needless`.
 * `answered` is false if there was no answer. */
void duplicate_settle(struct engine *engine, struct known_adapter *adapter, bool answered);
/* Notes that the scheduler has the job queued. If it is claimed already, the queued one is a duplicate and is taken
 * out of the queue. */
void duplicate_note_queued(struct engine *engine, struct live_job *job, const char *scheduler_id);
/* Returns whether no other job of this name is left, for a job that is over. If one may be left, all jobs of the name
 * are cancelled, and the job is touched after that. */
bool duplicate_is_swept(struct engine *engine, struct live_job *job);

#endif
