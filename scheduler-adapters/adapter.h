/* The contract between the engine and a batch system.
 *
 * An adapter submits jobs, reports their states, and ends them. It knows nothing of the store and of ensembles, only
 * jobs with unique names. It runs on the daemon's loop thread and never blocks it. Scheduler commands are child
 * processes with a time limit, and files of the run directory are read on worker threads. Every call with a callback
 * answers exactly once, never from inside the call itself, also when the adapter is destroyed (with ADAPTER_UNSURE).
 *
 * Two rules keep jobs from being lost or run twice. An adapter that cannot find something out says so (ADAPTER_UNSURE)
 * instead of guessing. And a job is known by its name: schedulers reuse ids, so that an id alone proves nothing. */
#ifndef SCHEDULER_ADAPTERS_ADAPTER_H
#define SCHEDULER_ADAPTERS_ADAPTER_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* The number grows with every change of this interface: a daemon loads only plugins that were built with its own
 * number. */
#define ADAPTER_ABI 16

/* The resources that a job asks for: the spec's `resources`, times `pack` or `ranks` if a job holds several
 * tasks. */
struct adapter_resources {
    int nodes;         /* >= 1 */
    int tasks;         /* processes of one member, >= 1 */
    int cpus_per_task; /* >= 1 */
    int gpus;          /* per member or rank, >= 0 */
    int copies; /* members or ranks that share the job, >= 1; the job wants copies * tasks * cpus_per_task CPUs */
    /* the copies are ranks of a training, which all end when one fails; false: members, which are independent of each
     * other */
    bool together;
    /* a pilot of several nodes: the adapter starts its one task on each of them, unless the task does so by itself */
    bool each_node;
    int64_t memory; /* bytes per member, 0: not said */
    /* the nodes are shared with nobody, and all they have is the job's; if an adapter has slots, they are given
     * instead */
    bool whole_nodes;
    int64_t walltime_ms; /* 0: no limit */
    const char *queue;   /* NULL: not said */
    const char *account;
    /* the program by which the runner starts the `tasks` of a member, as LAUNCHER -n TASKS ...; "copies": the runner
     * starts them itself; NULL: the command is started once */
    const char *launcher;
    /* array of all words that are put before the command, of which `launcher` is the first; NULL: "-n TASKS" is put
     * after it */
    const json_t *launch;
    const json_t *extra; /* array of strings passed through, or NULL */
};

/* A job as an adapter is given it. All pointers are borrowed for the call. */
struct adapter_job {
    const char *name;         /* unique over all daemons and all time; [A-Za-z0-9._-], at most 63 */
    const char *scheduler_id; /* what submit answered; NULL if the answer never came */
    const char *dir; /* the job's directory (docs/run-directory.md), which holds job.json unless `descriptor` is set */
    const char *descriptor; /* the content of job.json, set only for a submission to an adapter that hands it over */
    struct adapter_resources resources;
    int64_t submitted_ms; /* Unix ms; 0 before it is submitted */
    int64_t grace_ms;     /* between SIGTERM and SIGKILL when it is ended */
    int64_t least_ms;     /* the job is not worth starting with less time than this left; 0: not known */
};

enum adapter_answer {
    ADAPTER_OK,
    ADAPTER_REFUSED, /* for good: the scheduler's own words are in the error */
    ADAPTER_UNSURE,  /* could not find out: nothing is known, ask again */
    /* Answer to a submission: certainly nothing was accepted, because the batch system refused it for now or its
     * command could not be started. The job is submitted again later, and a cancel ends it at once; after
     * ADAPTER_UNSURE it is looked up first. */
    ADAPTER_LATER,
    /* Answer to a submission: certainly nothing was accepted, and the adapter does not know whether the refusal is for
     * good or for now. If the batch system has accepted a job of the same ensemble before, the job is submitted
     * again, for a day; otherwise it is refused. */
    ADAPTER_UNCLEAR,
};

enum adapter_state {
    ADAPTER_JOB_QUEUED,
    ADAPTER_JOB_RUNNING,
    ADAPTER_JOB_ENDED,   /* the scheduler says so; how each task ended stands in its exit record */
    ADAPTER_JOB_UNKNOWN, /* the scheduler answered, and knows no such job */
    ADAPTER_JOB_UNASKED, /* it was not asked about this job, which is taken to be as before, until the next answer */
};

/* The scheduler's report about one job. */
struct adapter_status {
    enum adapter_state state;
    int64_t started_ms;    /* 0: not known */
    char scheduler_id[64]; /* "" if not known */
    char host[64];         /* "" if not known */
    /* The reason in the scheduler's words. With ADAPTER_JOB_ENDED it says why the job ended, and is used only as a hint
     * if a task left no exit record. With ADAPTER_JOB_QUEUED it says what the job waits for. */
    char reason[256];
    /* with ADAPTER_JOB_QUEUED: the job waits for something that cannot come, so it is given up with the reason */
    bool never;
    /* with never: by a limit, which the site may change. If a job of the same ensemble has run, the job stays in the
     * queue for a day before it is given up. */
    bool limited;
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

/* The daemon's side of an adapter; it outlives the adapter. */
struct adapter_host {
    uv_loop_t *loop;
    const char *runner;   /* absolute path of stretto-run */
    const json_t *config; /* this adapter's section of the configuration, an object, or NULL */
    /* Something about this adapter's jobs changed: poll soon. Callable at any time from the loop thread. */
    void (*poke)(void *arg);
    /* Reports a waiting job that no answer to a poll or find includes: a second one of the same name, or one of a name
     * that was not asked for. It is called before that answer, from the same listing, and again for as long as the job
     * is seen. The daemon ignores names that are not its own. Called from the loop thread; the strings are borrowed for
     * the call. */
    void (*duplicate)(void *arg, const char *name, const char *scheduler_id);
    /* Writes a sentence to the daemon's log; `job` is the name of the job that it is about, or NULL. Callable from any
     * thread. */
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
    /* Its jobs run on the daemon's own host, so that files which a job needs after a crash of that host need no
     * flushing before it starts. */
    bool same_host;
    /* the list ends with a NULL name, and the daemon refuses other keys; NULL: any key is accepted */
    const struct adapter_setting *settings;
    /* It hands the runner its descriptor (stretto-run --job-fd): no job.json is written, and the runner makes the job's
     * directory. Only with same_host. */
    bool hands_over;
    /* The adapter watches the processes themselves, so that its word on a job is final. Other adapters pass on a
     * scheduler's reports. These may be late, or lack a job for a while, so the daemon asks again before it declares
     * such a job lost. */
    bool exact;

    /* Make an adapter. NULL with err if the configuration is wrong. Must not start anything that lasts. */
    struct adapter *(*create)(const struct adapter_host *host, struct error *err);

    /* Destroys the adapter; its jobs go on, and no poke follows. Calls under way are answered with ADAPTER_UNSURE
     * before done(arg) is called, once. */
    void (*destroy)(struct adapter *a, void (*done)(void *arg), void *arg);

    /* Checks that the programs and settings that the adapter needs are here. Returns 0, or -1 with what is missing,
     * e.g. "sbatch is not on the daemon's PATH". It answers at once. It is called before the first job, and again while
     * the batch system does not answer. No job is submitted as long as it fails. NULL: nothing is needed. */
    int (*ready)(struct adapter *a, struct error *err);

    /* Checks that a job like this could ever run here. It answers at once, from what is known. Returns 0, or -1 with
     * code "resources_impossible" and the limits in the text. err->pointer is relative to the resources object, e.g.
     * "/tasks". */
    int (*check)(struct adapter *a, const struct adapter_resources *want, struct error *err);

    /* The number of CPU slots that the adapter has in all; 0 if it is unknown or unlimited. */
    int (*slots)(struct adapter *a);

    /* The number of slots of each node, if jobs have as many nodes to themselves as they ask for; 0: not known.
     * NULL: jobs share nodes. */
    int (*node_slots)(struct adapter *a);

    /* The time that the daemon is to wait between polls if there is no news: > 0. NULL: the daemon decides. */
    int64_t (*interval_ms)(struct adapter *a);

    /* Starts or queues `runner job->dir` under job->name. A job that the adapter has already is not started again: its
     * id is answered. A name may be submitted again after find() did not see it: the runner's claim makes the second
     * job harmless. */
    void (*submit)(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg);

    /* Answers one question for all the jobs, however many, with one scheduler command. It is also called with no jobs,
     * to learn of others that wait.
     *
     * A name that was submitted again, because an answer was lost or the first job was out of sight, may have several
     * jobs. The answer is about the first of these:
     *
     * - the job that runs
     * - the job that waits
     * - the job that has ended
     *
     * Of two in the same state it is about the one submitted first. Others that wait are reported to
     * host->duplicate. */
    void (*poll)(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);

    /* Returns the exit records of a job that a poll has just reported as ended, as its runner handed them back. They
     * are the text of a JSON array of the contents of the record files, which the caller frees. NULL: the caller reads
     * the files. A second call for the same job returns NULL. It answers at once. The method is optional. */
    char *(*take_records)(struct adapter *a, const char *name);

    /* Looks jobs up by name, after a restart or a lost answer; it reports like poll, and may be slower. */
    void (*find)(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);

    /* Ends the job with its whole process tree: SIGTERM, grace, SIGKILL; a queued job never starts any process. All
     * jobs of a name that was submitted more than once are ended. The calls of one turn of the loop belong together.
     * Jobs that wait are taken out of the queue before those that run are signalled, since the end of one would start
     * another. The answer for a job that is gone is ADAPTER_OK. Poll reports when the job has ended. If the job has
     * still not ended a minute beyond the grace, the order is given again. */
    void (*cancel)(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg);

    /* Takes one job out of the queue, by name and id, which duplicate or an answer told. The job never starts; if it
     * has begun meanwhile it is left alone, and so are others of its name. The answer for a job that is gone is
     * ADAPTER_OK. NULL: this batch system cannot have two jobs of a name, nor jobs that the daemon does not know, and
     * host->duplicate is not called. */
    void (*withdraw)(struct adapter *a, const char *name, const char *scheduler_id, adapter_done_cb *cb, void *arg);

    /* Sends SIGUSR1 or SIGUSR2 to the first process of each of the job's tasks, by way of the runner. ADAPTER_UNSURE
     * if the job has not started yet, ADAPTER_REFUSED if it has ended or for another signal. */
    void (*signal)(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg);
};

#endif
