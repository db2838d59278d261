/* The contract between the engine and a batch system.
 *
 * An adapter submits jobs, says what became of them, and ends them. It knows nobody above: no store, no ensembles, only
 * jobs with unique names. It runs on the daemon's loop thread and never blocks it: scheduler commands are child
 * processes with a time limit, files of the run directory are read on worker threads. Every call that takes a callback
 * answers exactly once, never from inside the call itself, also when the adapter is destroyed (with ADAPTER_UNSURE).
 *
 * Rules that engines before us broke: an adapter that cannot find out says so (ADAPTER_UNSURE) instead of guessing; a
 * job is known by its name, and an id alone proves nothing, since schedulers reuse ids. */
#ifndef SCHEDULER_ADAPTERS_ADAPTER_H
#define SCHEDULER_ADAPTERS_ADAPTER_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* Grows with every change of what follows: an adapter and a daemon of different numbers do not fit. */
#define ADAPTER_ABI 12

/* What a job asks for: the spec's `resources`, times `pack` or `ranks` where a job holds several tasks. */
struct adapter_resources {
    int nodes;           /* >= 1 */
    int tasks;           /* processes of one member, >= 1 */
    int cpus_per_task;   /* >= 1 */
    int gpus;            /* per member or rank, >= 0 */
    int copies;          /* members or ranks that share the job, >= 1; CPUs wanted: copies * tasks * cpus_per_task */
    bool together;       /* the copies are ranks of a training: where one fails all end; members have nothing to do with each other */
    bool each_node;      /* a pilot of several nodes: its one task gets onto each of them by itself, or by the adapter */
    int64_t memory;      /* bytes per member, 0: not said */
    bool whole_nodes;    /* all that the nodes have, shared with nobody; where an adapter has slots, they are said instead */
    int64_t walltime_ms; /* 0: no limit */
    const char *queue;   /* NULL: not said; likewise account */
    const char *account;
    const char *launcher; /* that the runner starts the `tasks` of a member by: LAUNCHER -n TASKS ...; NULL: it is none of its business */
    const json_t *extra; /* array of strings passed through, or NULL */
};

/* A job as an adapter is given it. All pointers are borrowed for the call. */
struct adapter_job {
    const char *name;         /* unique over all daemons and all time; [A-Za-z0-9._-], at most 63 */
    const char *scheduler_id; /* what submit answered; NULL where the answer never came */
    const char *dir;          /* the job's directory (docs/run-directory.md); job.json lies in it, already on disk, unless: */
    const char *descriptor;   /* what stands in job.json, where the adapter hands it over; only of a job that is submitted */
    struct adapter_resources resources;
    int64_t submitted_ms; /* when it was submitted, Unix ms; 0 before */
    int64_t grace_ms;     /* between SIGTERM and SIGKILL when it is ended */
    int64_t least_ms;     /* it is of no use to start it with less time than that; 0: not known */
};

enum adapter_answer {
    ADAPTER_OK,
    ADAPTER_REFUSED, /* for good: the scheduler's own words are in the error */
    ADAPTER_UNSURE,  /* could not find out: nothing is known, ask again */
    /* Of a submission: certainly nothing was accepted, since the batch system refused it as things are now, or its command could not be
     * started. The job is submitted again later, and is over at once when it is cancelled; after ADAPTER_UNSURE it is looked up first. */
    ADAPTER_LATER,
};

enum adapter_state {
    ADAPTER_JOB_QUEUED,
    ADAPTER_JOB_RUNNING,
    ADAPTER_JOB_ENDED,   /* the scheduler says so; how each task ended stands in its exit record */
    ADAPTER_JOB_UNKNOWN, /* the scheduler answered, and knows no such job */
};

/* What the scheduler says of one job. */
struct adapter_status {
    enum adapter_state state;
    int64_t started_ms;    /* 0: not known */
    char scheduler_id[64]; /* "" where not known */
    char host[64];         /* "" where not known */
    /* In the scheduler's words: with ADAPTER_JOB_ENDED why, only as a hint where a task left no exit record; with
     * ADAPTER_JOB_QUEUED what it waits for. */
    char reason[256];
    bool never; /* with ADAPTER_JOB_QUEUED: that cannot come, so the job will never run; it is given up, with the reason */
    bool node_lost; /* node failure or preemption: not the program's fault */
};

/* answer ADAPTER_OK: scheduler_id is set (valid during the callback). */
typedef void adapter_submit_cb(void *arg, enum adapter_answer answer, const char *scheduler_id,
                               const struct error *err);
/* answer ADAPTER_OK: statuses[i] belongs to jobs[i] of the call. Otherwise statuses is NULL and nothing is known. */
typedef void adapter_poll_cb(void *arg, enum adapter_answer answer, const struct adapter_status *statuses, size_t n,
                             const struct error *err);
typedef void adapter_done_cb(void *arg, enum adapter_answer answer, const struct error *err);

enum adapter_log { ADAPTER_LOG_ERROR, ADAPTER_LOG_WARN, ADAPTER_LOG_INFO };

/* What the daemon lends an adapter; outlives it. */
struct adapter_host {
    uv_loop_t *loop;
    const char *runner; /* absolute path of stretto-run */
    const json_t *config; /* this adapter's section of the configuration, an object, or NULL */
    /* Something about this adapter's jobs changed: poll soon. Callable at any time from the loop thread. */
    void (*poke)(void *arg);
    /* A job waits in the queue of which the answer to a poll or find will not tell: beside the one of the same name that the
     * answer is about, or of a name that was not asked for. Told before that answer, from what it is made of, and again for as
     * long as it is seen. Names that are not the daemon's are ignored by it. From the loop thread; borrowed for the call. */
    void (*surplus)(void *arg, const char *name, const char *scheduler_id);
    /* A sentence for the daemon's log; `job` is the name of the job that it is about, or NULL. From any thread. */
    void (*log)(void *arg, enum adapter_log level, const char *job, const char *sentence);
    void *arg;
};

struct adapter;

/* A key of an adapter's section of the configuration, for `strettod --help-config`. */
struct adapter_setting {
    const char *name, *fallback, *meaning;
};

struct adapter_ops {
    int abi; /* ADAPTER_ABI */
    const char *name;
    /* Its jobs run on the daemon's own host: what a crash of it leaves of them needs no flushing beforehand. */
    bool same_host;
    const struct adapter_setting *settings; /* ended by a NULL name; the daemon refuses others. NULL: not told */
    /* It hands the runner its descriptor (stretto-run --letter): no job.json is written, and the runner makes the job's
     * directory. Only with same_host. */
    bool hands_over;
    /* It watches the processes themselves, so that what it says of a job is so. Others pass on what a scheduler says, which
     * may be late, or lose sight of a job for a while: the daemon asks again before it takes one for lost. */
    bool exact;

    /* Make an adapter. NULL with err where the configuration is wrong. Must not start anything that lasts. */
    struct adapter *(*create)(const struct adapter_host *host, struct error *err);

    /* End it; jobs go on, and no poke follows. Calls under way are answered with ADAPTER_UNSURE before done(arg) is
     * called, once. */
    void (*destroy)(struct adapter *a, void (*done)(void *arg), void *arg);

    /* Is everything here that the adapter needs on this machine: programs, settings? 0, or -1 with what was looked for and not found,
     * e.g. "sbatch is not on the daemon's PATH". Immediate. Asked before the first job, and again while the batch system does not
     * answer; no job is submitted as long as it fails. NULL: nothing is needed. */
    int (*ready)(struct adapter *a, struct error *err);

    /* Could a job like this ever run here? Immediate, from what is known; -1 with code "resources_impossible" and the
     * limits in the text. err->pointer is relative to the resources object, e.g. "/tasks". */
    int (*check)(struct adapter *a, const struct adapter_resources *want, struct error *err);

    /* How many CPU slots the adapter has in all, 0 where unknown or unlimited. */
    int (*slots)(struct adapter *a);

    /* How many of them each of its nodes has, where a job has nodes to itself, as many as it asks for; 0: not known. NULL: jobs
     * share nodes. */
    int (*node_slots)(struct adapter *a);

    /* How long the daemon is to wait between polls where there is no news: > 0. NULL: it decides. */
    int64_t (*interval_ms)(struct adapter *a);

    /* Start, or queue, `runner job->dir` under job->name. A job that the adapter has already is not started again: its
     * id is answered. Submitting a name again is allowed after find() did not see it: the runner's claim makes the
     * second one harmless. */
    void (*submit)(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg);

    /* One question for all the jobs, however many (one scheduler command): also for none, to hear of others that wait. A name that was submitted again, because an
     * answer was lost or the first one was out of sight, may have several jobs: the answer is about the one that runs,
     * else the one that waits, else the one that has ended; of two alike, about the one submitted first. Others that wait
     * are told to host->surplus. */
    void (*poll)(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);

    /* The exit records of a job of which a poll has just said that it ended, as its runner handed them back: the text of a JSON
     * array of what stands in the files of that name, to be freed. NULL: read the files; so from the second time on. Immediate.
     * May be NULL itself. */
    char *(*take_records)(struct adapter *a, const char *name);

    /* Look jobs up by name, after a restart or a lost answer; reports like poll. May be slower than poll. */
    void (*find)(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);

    /* End the job with its whole process tree: SIGTERM, grace, SIGKILL; of a queued one nothing ever starts. Of a name
     * that was submitted more than once, all jobs. Ending a job that is gone is ADAPTER_OK. Poll tells when it has ended; where
     * it still tells, a minute beyond the grace, that it has not, the order is given again. */
    void (*cancel)(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg);

    /* Take one job out of the queue, by name and id: one that was told of, there or in an answer. It never starts; one that has begun
     * meanwhile is left alone, and so are others of that name. One that is gone is ADAPTER_OK. NULL where two jobs of a name
     * cannot be, and none waits that the daemon does not know of: host->surplus is not called then. */
    void (*withdraw)(struct adapter *a, const char *name, const char *scheduler_id, adapter_done_cb *cb, void *arg);

    /* Send SIGUSR1 or SIGUSR2 to the first process of each of the job's tasks, by way of the runner. ADAPTER_UNSURE
     * where the job has not started yet, ADAPTER_REFUSED where it has ended or for another signal. */
    void (*signal)(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg);
};

#endif
