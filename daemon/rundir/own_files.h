/* The files that stretto itself writes into the directories of attempts and jobs, and that it may therefore remove
 * (docs/run-directory.md). Everything else there belongs to the user. */
#ifndef DAEMON_RUNDIR_OWN_FILES_H
#define DAEMON_RUNDIR_OWN_FILES_H

enum { ATTEMPT_FILE_STDOUT, ATTEMPT_FILE_STDERR, ATTEMPT_FILES = 6, JOB_FILES = 4 };

extern const char *const attempt_files[ATTEMPT_FILES]; /* exit.json is the last, and the last to be removed */
extern const char *const job_files[JOB_FILES];

/* Removes the directory of a member and that of its checkpoints, if they are empty. */
void member_dir_remove_empty(const char *member);

#endif
