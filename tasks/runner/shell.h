/* The runner as the shell of a PBS job (qsub -S). PBS starts a shell as the leader of the job's session, with the name of the job's
 * script on its standard input, so the script is a child of that shell; and it sends signals to every process of the session, so
 * that a signal for the script ends the shell, and with that the job. By this program in between, the shell is an ordinary one that
 * takes no notice of those signals, and the runner, which the script becomes, gets them. */
#ifndef TASKS_RUNNER_SHELL_H
#define TASKS_RUNNER_SHELL_H
#include <stdbool.h>

/* As PBS starts it: a login shell ("-stretto-run"), or without any words in a job of PBS's. */
bool shell_is_meant(int argc, char **argv);

/* Becomes /bin/sh with these words, its standard input untouched. Returns an exit status where that fails. */
int shell_become(int argc, char **argv);
#endif
