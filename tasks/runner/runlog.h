/* The runner's own log, where a daemon on this host started it: in memory to begin with, and in runner.log once there is
 * somebody who may want to read it - after a warning, a task that did not succeed, or a second. */
#ifndef TASKS_RUNNER_RUNLOG_H
#define TASKS_RUNNER_RUNLOG_H

#define RUNLOG_KEEP_MS 1000 /* after the runner's start, whatever happens */

/* stdout and stderr go there from now on. */
void runlog_begin(const char *jobdir);

/* From now on in the file, with all that was said before. Does nothing where it is there already, or never began. */
void runlog_keep(void);

#endif
