/* Signals of a runner, and which of them its tasks would inherit as ignored. */
#ifndef TASKS_RUNNER_SIGNALS_H
#define TASKS_RUNNER_SIGNALS_H
#include "common/error.h"

#include <signal.h>

/* Blocks the signals that the loop handles, so that none is lost before it runs. Returns a signalfd, or -1 with err. */
int run_signals(struct error *err);

/* Returns the signals that this process ignores, as it was started or by run_signals(): they are looked for once. A
 * task gets their defaults back; others need nothing, since a new program has no handlers. */
const sigset_t *run_ignored(void);
#endif
