/* stretto-run --pilot DIR: a runner that stays. In an allocation of many hours it starts the jobs that the daemon hands
 * it through the run directory. It starts as many at once as its node has room for, each by a runner of its own
 * (docs/run-directory.md, Pilots). It needs no network; the control socket only makes it faster. */
#ifndef TASKS_RUNNER_PILOT_H
#define TASKS_RUNNER_PILOT_H
#include "common/text.h"
#include "tasks/runner/machine.h"
#include "tasks/runner/rank.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>
#include <uthash.h>

/* A job that the daemon handed to the pilot. */
struct pilot_job {
    struct pilot_job *prev, *next; /* in the queue, or among the running jobs */
    char *name, *dir, *descriptor;
    int64_t cpus, gpus, memory, grace_ms;
    int64_t least_ms; /* it is not started with less time left */
    pid_t pid;        /* of its runner */
    /* the descriptor in which its runner found job.json, and in which it returns the exit records; -1: none */
    int jobfd;
    int seen_stopped; /* how many checks in a row found its runner stopped */
    int64_t kill_at;  /* monotonic, once it was told to end; INT64_MAX: it was not */
    bool returned;    /* it never started, and never will: only its name is remembered */
    UT_hash_handle hh;
};

struct pilot_cpu {
    int id;
    const struct pilot_job *job; /* the job that has it; NULL: it is free */
};

struct pilot_gpu {
    char *id;
    const struct pilot_job *job; /* the job that has it; NULL: it is free */
};

/* The daemon's settings for the pilot, from pilot.json; the strings and the list belong to `json`. */
struct pilot_config {
    json_t *json;
    const char *name, *control; /* control: path of the control socket, or NULL */
    int64_t nodes, idle_ms, least_ms;
    int64_t stopped_ms; /* a runner that stays stopped so long is killed */
    bool flush;
    const json_t *launcher;
};

/* The resources of this node, and how many of them are in use. */
struct pilot_room {
    int64_t cpus, memory;
    int64_t used_cpus, used_memory;
    struct pilot_cpu *own; /* `cpus` of them, to which the jobs are bound; NULL: jobs are not bound */
    struct pilot_gpu *gpus;
    int64_t n_gpus;
    bool knows_gpus; /* true even if there are none */
};

struct pilot_jobs {
    struct pilot_job *all, *queue, *running; /* all, by name; the first of each list */
    size_t n_running;
    int64_t paused_until; /* monotonic: no job is started before */
    int64_t look_at;      /* monotonic time of the next check for stopped runners */
};

struct pilot_journal {
    int fd;            /* -1: none */
    struct text lines; /* lines for the journal; those from `written` on are not in it yet */
    size_t written;
    int64_t again_at; /* when to try again after it could not be written */
    int64_t sync_at;  /* when written lines are flushed to the disk; INT64_MAX: they are */
    bool told_trouble;
};

/* The directory in which the daemon leaves batches of orders. */
struct pilot_inbox {
    char *dir;
    int notify;    /* inotify of the directory; -1: none */
    bool notified; /* inotify has reported an event, so it works here */
    int64_t scan_at, scan_ms;
};

struct node_pilot {
    const struct machine *machine;
    const char *dir;
    char runner[4096];
    int signal_fd;
    struct pilot_config config;

    struct rank rank; /* set if ALPS placed the application, with a process on each node */
    char *node_dir;
    int64_t deadline_ms; /* Unix ms; INT64_MAX: none */
    struct pilot_room room;

    struct pilot_inbox inbox;
    struct pilot_jobs jobs;
    struct pilot_journal journal;
    int64_t idle_since; /* monotonic */
    bool stopping;
};

/* Runs a pilot; signal_fd is from run_signals(). Returns the exit status. */
int pilot_main(const char *dir, bool on_node, int signal_fd);

/* pilot_launch.c: starts a pilot on each node of the allocation. Returns only if that fails, with the exit
 * status. */
int pilot_launch(struct node_pilot *p);
/* On a node: takes over the job's environment, if the launcher did not pass it on. */
int pilot_take_environment(const struct node_pilot *p, struct error *err);

/* pilot_jobs.c */
void pilot_take(struct node_pilot *p, const char *line); /* takes a line of the inbox */
void pilot_start_what_fits(struct node_pilot *p);
void pilot_reap(struct node_pilot *p);
/* called when the pilot is to end: starts no more jobs, and sends running ones the signal to end */
void pilot_stop(struct node_pilot *p);
void pilot_kill_overdue(struct node_pilot *p, int64_t now);
/* kills runners that were stopped, as by SIGSTOP, and did not go on */
void pilot_kill_stopped(struct node_pilot *p, int64_t now);
void pilot_forget(struct node_pilot *p);

/* pilot_journal.c */
int pilot_journal_open(struct node_pilot *p, struct error *err);
void pilot_say_ready(struct node_pilot *p);
void pilot_say_start(struct node_pilot *p, const struct pilot_job *job);
/* records: a JSON array, or NULL: the daemon is to look for them. */
void pilot_say_end(struct node_pilot *p, const struct pilot_job *job, const char *records, int status);
void pilot_say_return(struct node_pilot *p, const char *job, const char *why);
void pilot_say_over(struct node_pilot *p, const char *why);
void pilot_journal_flush(struct node_pilot *p, int64_t now); /* writes the lines that were added since, at once */
bool pilot_journal_pending(const struct node_pilot *p);
int64_t pilot_journal_due(const struct node_pilot *p); /* when it must be flushed again; INT64_MAX: it need not be */

#endif
