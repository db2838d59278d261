/* A runner in virtual time, on a machine whose processes do what the test says: one process of its last task, maybe one
 * of another task before it, and processes that tasks have left. Times are ms, and count from the start of the job
 * unless said otherwise. */
#ifndef TESTS_UNIT_RUNNER_RIG_H
#define TESTS_UNIT_RUNNER_RIG_H
#include "tasks/proto/jobdesc.h"
#include "tasks/runner/task.h"
#include "tests/unit/unit.h"

#include <signal.h>

#define START 1000000
#define UNIX_START 1700000000000
#define NEVER INT64_MAX
#define SIGNALS_MAX 64
#define LEFT_MAX 4

extern char dir[64];      /* of the job */
extern int64_t now;       /* monotonic */
extern const struct machine machine;

/* The one process of the job's last task. */
struct rig_process {
    int64_t ends_at;  /* by itself */
    int64_t lasts;    /* beyond SIGTERM; NEVER: it ignores it */
    int64_t warned;   /* likewise beyond the warning */
    int64_t dies;     /* likewise beyond SIGKILL, as in a system call that does not come back */
    int status;       /* as wait4() gives it, where no signal ends it */
    char state;       /* as in /proc; 0: it sleeps */
    int64_t works_until; /* it takes CPU time until then; 0: none */
    bool there;
};
extern struct rig_process process;

/* A process that a task has started, and which is a child of the runner when the task's own has ended. */
struct rig_left {
    int64_t ends_at, lasts, dies; /* as above */
    size_t task;                  /* TREE_UNOWNED: nobody can tell whose it is */
    bool there;
    int64_t term_at, kill_at;     /* when it got these signals first; NEVER: it did not */
};
extern struct rig_left left[LEFT_MAX];

extern int64_t other_ends_at; /* the process of a task before the last; NEVER: there is none */
extern int other_status;
extern bool other_is_there, other_fails; /* fails: it is a rank, and cannot be started */

extern int64_t told_at; /* when the runner gets this signal */
extern int told_sig;
extern int64_t gone_at;         /* when the directory of its task is removed, with that above it */
extern int64_t disk_full_until; /* until then no exit record can be written */
extern bool is_watched, is_shared; /* by the daemon, on its host; by runners that have its other tasks */
extern int result;                 /* of run_job() */
extern int64_t given_up_at; /* when the daemon takes the place of its exit record */
extern int64_t stalls_at, stalls_until; /* the runner, which was about to wake up, wakes up then */
extern int64_t reports_at; /* when the process writes `reports` into the file of its metrics, which is read then */
extern const char *reports;
extern int64_t writes_at; /* when it writes this file into its directory, which is that of its checkpoints, too */
extern const char *writes;
extern int64_t does_at; /* when this is done, whatever it is */
extern void (*does)(void);
extern struct jobdesc_metrics of_metrics;
extern int64_t step_until;
extern int64_t pilot_over; /* when the time of the pilot around it is over */
extern void (*adjust)(struct jobdesc *desc, struct job *job); /* changes a job before it runs; NULL: it stays as it is */
extern void (*started)(struct task *t); /* called when a task has been started; NULL: nothing is */
extern int n_started;
extern char record_path[128]; /* of the last task */
extern char other_record[128];

/* The signals that the process of the last task was sent. */
extern struct rig_sent {
    int64_t at;
    int sig;
} sent[SIGNALS_MAX];
extern size_t n_sent, n_waits; /* n_waits: how often the runner has waited for events */

/* The messages that the daemon was sent, one letter for each: S: a status, C: a claim, X: ends of tasks, E: the end of
 * the job. */
extern char nudges[200];

/* A process that would run for an hour, and does nothing on signals but what the test says; and nothing else. */
void begin(void);

/* Adds a process that the task leaves. It ends on SIGTERM after `lasts`. */
struct rig_left *leave(size_t task, int64_t lasts);

/* A job of one task, or of two, to its end. Returns the record of the last, to be freed. */
json_t *run(int64_t walltime_ms, int64_t grace_ms, struct jobdesc_checkpoint checkpoint);

void assert_sent(size_t n, const int64_t (*wanted)[2]); /* signals and times, in their order */
#define SENT(...) assert_sent(sizeof (int64_t[][2]){__VA_ARGS__} / sizeof (int64_t[2]), (const int64_t[][2]){__VA_ARGS__})

void assert_record(json_t *record, const char *outcome, const char *reason); /* and frees it */

/* Returns whether the job's directory has this file, and removes it. */
bool is_there(const char *name);

static const struct jobdesc_checkpoint none, before_2m = {.any = true, .before_ms = 120000, .signal = SIGUSR1, .keep = 1};

int rig_main(const char *name, const struct CMUnitTest *tests, size_t n);
#define RIG_MAIN(name, tests) rig_main(name, tests, sizeof tests / sizeof *tests)

#endif
