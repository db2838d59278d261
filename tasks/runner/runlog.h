/* The runner's own log, if a daemon on this host started it. It is in memory at first, and in runner.log once somebody
 * may want to read it: after a warning, a task that did not succeed, or a second. */
#ifndef TASKS_RUNNER_RUNLOG_H
#define TASKS_RUNNER_RUNLOG_H

#define RUNLOG_KEEP_MS 1000 /* after the runner's start, in any case */

/* Sends stdout and stderr to the log from now on. */
void runlog_begin(const char *jobdir);

/* Moves the log to the file, with all that was written before. Does nothing if it is there already, or was never
 * begun. */
void runlog_keep(void);

#endif
