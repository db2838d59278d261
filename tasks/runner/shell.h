/* The runner as the shell of a PBS job (qsub -S). PBS starts a shell as the leader of the job's session, with the name
 * of the job's script on its standard input, so the script is a child of that shell. PBS sends signals to every process
 * of the session, so that a signal for the script also ends the shell, and with it the job. This program becomes a
 * shell that ignores these signals, and the runner, which the script becomes, gets them. */
#ifndef TASKS_RUNNER_SHELL_H
#define TASKS_RUNNER_SHELL_H
#include <stdbool.h>

/* Returns whether PBS has started this program as a shell: as a login shell ("-stretto-run"), or without any words in a
 * job of PBS. */
bool shell_is_meant(int argc, char **argv);

/* Becomes /bin/sh with these words and the same standard input. Returns an exit status if that fails. */
int shell_become(int argc, char **argv);
#endif
