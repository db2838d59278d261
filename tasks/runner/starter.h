/* stretto-run --starter: stands by for the daemon that started it, and makes each runner as a copy of itself. Starting
 * a program anew costs more than the runner of a short job does. The protocol is in tasks/proto/starter.h. */
#ifndef TASKS_RUNNER_STARTER_H
#define TASKS_RUNNER_STARTER_H
/* Runs until the daemon is gone, or needs it no more. Returns an exit status, in the starter. */
int starter_main(int argc, char **argv);

#endif
