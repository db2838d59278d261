/* The runner's own log, where a daemon on this host started it: in memory at first, and in runner.log once somebody may
 * want to read it: after a warning, a task that did not succeed, or a second. */
#ifndef TASKS_RUNNER_RUNLOG_H
#define TASKS_RUNNER_RUNLOG_H

#include <stdbool.h>

#define RUNLOG_KEEP_MS 1000 /* after the start of the job, in any case */

/* Begins the log of a job, to which stdout and stderr go from now on. What is in memory of an earlier job is
 * forgotten. */
void runlog_begin(const char *jobdir);

/* Moves the log to the file, with all that was written before. Does nothing where it is there already, or was never
 * begun. */
void runlog_keep(void);

#endif
