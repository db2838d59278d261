/* Moves away what other jobs have left in the directories of a job's tasks. */
#ifndef TASKS_RUNNER_ASIDE_H
#define TASKS_RUNNER_ASIDE_H
#include "tasks/proto/jobdesc.h"

/* Renames each task's directory that has files of another job to DIR.before-JOB, and makes an empty one in its place.
 * Only directories below that of the job's ensemble are renamed: the job is in ENSEMBLE/jobs/JOB. All others belong to
 * somebody else, and are left alone.
 * Attempts get the same numbers again if the daemon's database was replaced by an older copy, and what the other
 * attempt left is no result of this one. To be called once the job is claimed, before any of its tasks is started. */
int aside_set(const char *jobdir, const struct jobdesc *desc, struct error *err);

#endif
