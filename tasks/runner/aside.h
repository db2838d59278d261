/* Moves away what other jobs have left in the directories of a job's tasks. */
#ifndef TASKS_RUNNER_ASIDE_H
#define TASKS_RUNNER_ASIDE_H
#include "tasks/proto/jobdesc.h"

/* Renames each task's directory that has files of another job to DIR.before-JOB, and makes an empty one in its place.
 * Attempts get the same numbers again where the daemon's database was replaced by an older copy, and what the other
 * attempt left is no result of this one. To be called once the job is claimed, before any of its tasks is started. */
int aside_set(const struct jobdesc *desc, struct error *err);

#endif
