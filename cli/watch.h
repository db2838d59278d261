/* Follow an ensemble to its end, over restarts of the daemon. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H
#include "cli/cli.h"

#include <jansson.h>
#include <stdint.h>

/* How it is shown: `show` at every look, `hide` before anything else is printed. */
struct view {
    void (*show)(void *arg, const json_t *ensemble);
    void (*hide)(void *arg);
    void *arg;
};

/* Returns CLI_HOLDS once the ensemble has ended, however it did, with the last answer in *ensemble and its bytes in
 * *text, both the caller's. Otherwise everything has been said and the exit status is returned: CLI_INTERRUPTED after
 * Ctrl-C, which ends the watching and not the work. */
int watch_ensemble(struct cli *cli, int64_t id, const struct view *view, json_t **ensemble, char **text);

/* The same call may succeed soon: the daemon is away, or has too much to do. */
bool watch_may_pass(const struct error *err);

/* Sleep, or return early on Ctrl-C; non-zero where it was pressed. Valid between watch_begin() and the end. */
int watch_sleep(int64_t ms);
/* From now on Ctrl-C ends what the client waits for; a second one ends the program. */
void watch_begin(struct cli *cli);

/* `submit --wait` and `wait`: follow with a progress bar, then print the report, or with --json the ensemble. Exit
 * status CLI_HOLDS only where ensemble_succeeded(). */
int watch_and_report(struct cli *cli, int64_t id);
#endif
