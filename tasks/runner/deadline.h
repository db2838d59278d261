/* The time at which the tasks of a job are stopped because their time is over. */
#ifndef TASKS_RUNNER_DEADLINE_H
#define TASKS_RUNNER_DEADLINE_H
#include "tasks/runner/task.h"

/* Sets the time at which the tasks' time is over. It is over at the earliest of these:
 *
 * - the walltime
 * - the scheduler's end, less the time for the grace and the exit records
 * - the end of the pilot in which they were started late
 *
 * Sets `deadline_ms`, `deadline`, `cut_short` and `late`. `started_ms` and `until_ms` are of the monotonic clock;
 * INT64_MAX is no end. The scheduler's end comes from STRETTO_JOB_END or SLURM_JOB_END_TIME, and from
 * STRETTO_ALLOCATION_END, in Unix seconds. */
void deadline_set(struct job *job, int64_t started_ms, int64_t until_ms);

/* Returns why the job is to end, if it is: its deadline has come, or a signal that the runner has not taken yet. Asked
 * before a task starts, while large files are read. */
enum stop deadline_or_signal(const struct job *job);

#endif
