/* A pilot in virtual time, in a directory of its own. Its jobs are real processes, which tell what they have, and end
 * at once, or stay until they are told to end. Times are ms since the pilot's start. */
#ifndef TESTS_UNIT_PILOT_RIG_H
#define TESTS_UNIT_PILOT_RIG_H
#include "tasks/runner/pilot.h"
#include "tests/unit/unit.h"

#define START 1000000
#define UNIX_START 1700000000000

extern char dir[64];
extern int64_t now;

/* The list of what happens meanwhile, in the order of the times. */
struct rig_event {
    int64_t at;
    void (*what)(const char *arg);
    const char *arg;
};
extern const struct rig_event *events; /* ended by one without `what`; NULL: none */

void hand_over(const char *order);   /* a batch of the lines in `order`, under a name that comes next */
void stop(const char *signal);       /* the pilot gets this signal, a number */
void end_jobs(const char *ignored);  /* those that stay end well */

extern int64_t journal_full_until; /* until then nothing can be written into the journal */
extern bool writes_little;         /* a write takes 7 bytes at most */
extern bool without_inotify;
extern bool keeps_on; /* jobs that stay ignore SIGTERM */
extern int n_synced, n_waits;
extern int64_t synced_at; /* the last time */
extern int n_terminated, n_killed;
extern int64_t terminated_at; /* the first */

/* Begins with this pilot.json; `more` are members beside "job", "nodes" and "idle" of a minute, which they may
 * replace. */
void configure(const char *more);

/* Runs it. Returns its exit status. */
int fly(bool on_node);

/* Returns the lines of a node's journal as one text, to be freed: "ready 2 0; start a; end a 0; over idle". */
char *told_on(int node);
void assert_told(const char *wanted); /* on the first node, beside "ready" */
json_t *line_of(int node, const char *what, const char *job); /* the whole line, to be freed; NULL: there is none */
json_t *report_of(const char *job);                           /* what the job has told of itself, to be freed */

int pilot_rig_main(const char *name, const struct CMUnitTest *tests, size_t n);
#define RIG_MAIN(name, tests) pilot_rig_main(name, tests, sizeof tests / sizeof *tests)

#endif
