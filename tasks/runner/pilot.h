/* stretto-run --pilot DIR: a runner that stays. In an allocation of many hours it starts the jobs that the daemon hands it
 * through the run directory, as many at once as its node has room for, each by a runner of its own (docs/run-directory.md,
 * Pilots). It needs no network; the control socket only makes it faster. */
#ifndef TASKS_RUNNER_PILOT_H
#define TASKS_RUNNER_PILOT_H
#include "common/text.h"
#include "tasks/runner/machine.h"
#include "tasks/runner/notifier.h"
#include "tasks/runner/rank.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>
#include <uthash.h>

/* A job that it was handed. */
struct pilot_job {
    struct pilot_job *prev, *next; /* in the queue, or among those that run */
    char *name, *dir, *descriptor;
    int64_t cpus, gpus, memory, grace_ms;
    int64_t least_ms; /* with less time left it is not started */
    pid_t pid;   /* of its runner */
    int letter;  /* in which its runner found the descriptor, and puts the exit records; -1: none */
    int seen_stopped; /* in so many looks in a row its runner was stopped */
    int64_t kill_at; /* monotonic, after it was told to end; INT64_MAX: it was not */
    bool returned;   /* never started, and never will be: what is remembered is its name */
    UT_hash_handle hh;
};

struct pilot_cpu {
    int id;
    const struct pilot_job *job; /* that has it; NULL: free */
};

struct pilot_gpu {
    char *id;
    const struct pilot_job *job; /* that has it; NULL: free */
};

struct pilot {
    const struct machine *machine;
    const char *dir;
    char runner[4096];
    json_t *config; /* pilot.json, of which these are: */
    const char *name;
    int64_t nodes, idle_ms, least_ms;
    int64_t stopped_ms; /* after which a runner that is stopped is killed */
    bool flush;
    const json_t *launcher;

    struct rank rank; /* of the application that ALPS placed, a process on each node */
    char *node_dir, *inbox;
    int64_t cpus, memory; /* of this node */
    struct pilot_cpu *own; /* as many as `cpus`, to which the jobs are bound; NULL: they are not */
    struct pilot_gpu *gpus;
    int64_t n_gpus;
    bool knows_gpus;     /* even if there are none */
    int64_t deadline_ms; /* Unix; INT64_MAX: none */

    struct pilot_job *jobs, *queue, *running; /* all, by name; the first of each list */
    int64_t used_cpus, used_memory;
    size_t n_running;
    int64_t paused_until, idle_since; /* monotonic */
    bool stopping;
    int64_t look_at; /* for runners that are stopped, monotonic */

    int journal; /* descriptor */
    struct text lines; /* for the journal, that are not in it yet, from `written` on */
    size_t written;
    int64_t journal_again; /* after it could not be written */
    int64_t sync_at; /* when what was written is flushed to the disk; INT64_MAX: it is */
    bool told_trouble;
    struct notifier notifier;

    int signal_fd;
    int notify; /* inotify of the inbox; -1: none */
    bool notified; /* it works here */
    int64_t scan_at, scan_ms;
};

/* The whole of it. signal_fd: run_signals(). Returns the exit status. */
int pilot_main(const char *dir, bool on_node, int signal_fd);

/* main.c: as `stretto-run --local --letter [--gpus=…] JOBDIR` does, without being started anew, and with its time over at `until_ms`
 * (monotonic; INT64_MAX: not said) at the latest; gpus NULL: not said. Returns the exit status. */
int pilot_run_job(const char *jobdir, int letter, const char *gpus, pid_t pilot, int64_t started_ms, int64_t until_ms);

/* pilot_launch.c: one of us on each node of the allocation. Comes back only where that cannot be, with the exit status. */
int pilot_launch(struct pilot *p);
/* On a node: the job's environment, where what started us has none of it. */
int pilot_take_environment(const struct pilot *p, struct error *err);

/* pilot_jobs.c */
void pilot_take(struct pilot *p, const char *line); /* of the inbox */
void pilot_start_what_fits(struct pilot *p);
void pilot_reap(struct pilot *p);
void pilot_stop(struct pilot *p); /* told to end: none is started any more, those that run are told to end */
void pilot_kill_overdue(struct pilot *p, int64_t now);
void pilot_kill_stopped(struct pilot *p, int64_t now); /* runners that are stopped, as by SIGSTOP, and do not go on */
void pilot_return_queued(struct pilot *p, const char *why);
void pilot_forget(struct pilot *p);

/* pilot_journal.c */
int pilot_journal_open(struct pilot *p, struct error *err);
void pilot_say_ready(struct pilot *p);
void pilot_say_start(struct pilot *p, const struct pilot_job *job);
/* records: an array as JSON, or NULL: they are to be looked for. */
void pilot_say_end(struct pilot *p, const struct pilot_job *job, const char *records, int status);
void pilot_say_return(struct pilot *p, const char *job, const char *why);
void pilot_say_over(struct pilot *p, const char *why);
void pilot_journal_flush(struct pilot *p, int64_t now); /* what was said since, at once */
bool pilot_journal_pending(const struct pilot *p);
int64_t pilot_journal_due(const struct pilot *p); /* when it is to be flushed again; INT64_MAX: it need not be */

#endif
