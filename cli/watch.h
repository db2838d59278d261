/* Follows an ensemble to its end, over restarts of the daemon. */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H
#include "cli/cli.h"

#include <jansson.h>
#include <stdint.h>

/* The view of an ensemble: `show` is called at every look, `hide` before anything else is printed. */
struct view {
    void (*show)(void *arg, const json_t *ensemble);
    void (*hide)(void *arg);
    void *arg;
};

/* Returns CLI_HOLDS once the ensemble has ended, in whatever way, with the last answer in *ensemble and its bytes in
 * *text, both the caller's. Otherwise it has printed why, and returns the exit status: CLI_INTERRUPTED after Ctrl-C,
 * which ends the watching and not the work. */
int watch_ensemble(struct cli *cli, int64_t id, const struct view *view, json_t **ensemble, char **text);

/* Returns whether the same call may succeed soon: the daemon is away, or has too much to do. */
bool watch_may_pass(const struct error *err);

/* Sleeps, or returns early on Ctrl-C. Returns non-zero if it was pressed. Valid after watch_begin(). */
int watch_sleep(int64_t ms);
/* From now on Ctrl-C ends what the client waits for. A second one ends the program. */
void watch_begin(struct cli *cli);

/* Follows an ensemble with a progress bar, for `submit --wait` and `wait`. Then prints the report, or the ensemble with
 * --json. Then does the same for its follow-ups, one after the other, if they are automatic or `family` is true. The
 * exit status is CLI_HOLDS only if ensemble_succeeded(), or every member of the family has succeeded in the end. */
int watch_and_report(struct cli *cli, int64_t id, bool family);
#endif
