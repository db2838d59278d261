/* The parts of the local adapter: its jobs are runners on this machine, in as many CPU slots as it has.
 *
 * The states of a job in memory:
 *
 * - QUEUED
 * - STARTING, while the starter or a worker thread starts its runner
 * - RUNNING, while its runner lives
 * - LOOKING, while a worker thread finds out how a runner ended that did not end well, and ends the processes that it
 *   left
 * - ENDED
 *
 * Jobs that another daemon started are not in memory: their directories have their states. */
#ifndef SCHEDULER_ADAPTERS_LOCAL_H
#define SCHEDULER_ADAPTERS_LOCAL_H
#include "scheduler-adapters/adapter.h"
#include "scheduler-adapters/answers.h"
#include "tasks/proto/claim.h"
#include "tasks/proto/starter.h"

#include <spawn.h>
#include <stdatomic.h>
#include <uthash.h>

/* The share of the machine that a job takes. */
struct local_need {
    int64_t slots, gpus, memory;
};

struct local_gpu {
    char *id;                    /* its name in CUDA_VISIBLE_DEVICES */
    const struct local_job *job; /* the job that has it; NULL: it is free */
};

struct local_need local_need(const struct adapter_resources *want);

enum local_state { LOCAL_QUEUED, LOCAL_STARTING, LOCAL_RUNNING, LOCAL_LOOKING, LOCAL_ENDED };

struct local_job {
    struct local_job *prev, *next; /* in one of the adapter's lists */
    UT_hash_handle hh;             /* by name */
    struct adapter *a;
    char *name, *dir;
    char *descriptor; /* the content of job.json, for the runner; NULL: the file is in the directory */
    int jobfd;        /* the descriptor in which it was handed over, and in which the runner answers; -1: none */
    char *answer;     /* the exit records of an ended job; NULL: there are none, or they were taken */
    struct local_need need;
    int64_t walltime_ms, grace_ms;
    enum local_state state;
    struct adapter_status status; /* as polls report it */

    pid_t pid; /* of the runner */
    /* the runner is our child and not yet waited for, so that its process id cannot belong to another process */
    bool child;
    unsigned long long start_time; /* of an adopted runner */
    int pidfd;                     /* of an adopted runner; -1: none */
    uv_poll_t *watch;              /* of an adopted runner, on its pidfd */
    uv_timer_t *look_again;        /* if the kernel gives no pidfd, or the run directory could not be read */
    uv_timer_t *limit;             /* kills the runner and all that it started, for the reason `limit_why` */
    const char *limit_why;
    const char *killed_for; /* why the limit killed it; NULL: it did not */
    int seen_stopped;       /* how many checks in a row found its runner stopped */
    bool cancelled;
    int exit_status, exit_signal; /* of a runner that is our child */
    adapter_submit_cb *submitted; /* called when its start has succeeded or failed; NULL: nobody waits */
    void *submitted_arg;
};

struct local_list {
    struct local_job *first, *last;
    size_t n;
};

struct adapter {
    struct adapter_host host;
    char hostname[64];
    struct answers *answers;
    struct local_need have, used;
    struct local_gpu *gpus; /* have.gpus */
    size_t finding;         /* questions under way about jobs that are not known; no job starts meanwhile */
    bool unsure; /* the last such question had no answer, and no job starts, since those jobs may have GPUs */
    struct local_job *jobs; /* all jobs, by name */
    struct local_list queue, children, ended;
    struct {
        uv_poll_t *watch; /* NULL: there is no starter */
        int fd;
        pid_t pid; /* 0: there is no starter to be waited for */
        bool raising;
        uint64_t not_before;     /* loop time */
        struct local_list asked; /* its jobs, in the order of its answers */
    } starter;
    posix_spawn_file_actions_t actions; /* actions and attributes of every runner's start */
    posix_spawnattr_t attributes;
    uv_signal_t sigchld;
    uv_timer_t retry;   /* starts runners again after no process could be created */
    uv_timer_t stopped; /* looks for runners, and a starter, that are stopped */
    int64_t stopped_ms; /* a runner that stays stopped so long is killed */
    int handles;        /* handles that are not closed yet, of the three above */
    bool poke_queued;
    size_t workers; /* under way */
    atomic_bool closing;
    void (*destroyed)(void *arg);
    void *destroyed_arg;
};

/* local.c */
void local_poke(struct adapter *a);        /* wakes the engine, once a turn */
void local_worker_done(struct adapter *a); /* called last in every uv_after_work_cb */

/* local_stopped.c: from this call on, runners that stay stopped are killed. */
void local_stopped_start(struct adapter *a);

/* local_machine.c: fills in `have`, `gpus` and `stopped_ms`. 0, or -1 if the configuration is wrong. */
int local_machine(struct adapter *a, const json_t *config, struct error *err);
/* Returns how much memory this process may use: that of the machine, or less if its control groups, of both versions,
 * or those above them allow less. root: the directory above /proc and /sys; "" on a machine. */
int64_t local_machine_memory(const char *root);

/* local_gpus.c: the GPUs of each job. */
void local_gpus_give(struct local_job *job);                  /* gives the job as many free ones as it needs */
void local_gpus_note(struct local_job *job, const char *ids); /* notes those that it has already, separated by commas */
void local_gpus_take_back(struct local_job *job);
int64_t local_gpus_free(const struct adapter *a);
char *local_gpus_option(const struct local_job *job); /* the runner's option, to be freed */

/* local_queue.c: jobs by name, the queue and the slots. */
struct local_job *local_job_find(struct adapter *a, const char *name);
struct local_job *local_job_create(struct adapter *a, const struct adapter_job *job);
void local_job_free(struct local_job *job); /* forgets the job and closes its handles; ends no process */
void local_enqueue(struct local_job *job);
void local_schedule(struct adapter *a); /* starts as many jobs from the head of the queue as fit */
/* Notes that the runner is this child of ours. error: an errno if there is no runner, or 0. */
void local_started(struct local_job *job, pid_t pid, int jobfd, int error);
/* starts it again after a pause; its runner has claimed nothing, and is gone */
void local_start_again(struct local_job *job, const char *why);
char *local_take_records(struct adapter *a, const char *name);
void local_cancel_queued(struct local_job *job);
/* takes its slots even beyond the machine's: the processes of an adopted job are there already */
void local_take(struct local_job *job);
/* The job has ended with its whole process tree: gives its slots back and reports it. `reason` is copied. */
void local_job_ended(struct local_job *job, const char *reason, bool node_lost);

void local_list_append(struct local_list *list, struct local_job *job);
void local_list_remove(struct local_list *list, struct local_job *job);

/* local_start.c: has the job run by a copy of the starter, or else by a process that is started for it. local_started()
 * follows, on the loop's thread. */
void local_start_init(struct adapter *a);
void local_start_fini(struct adapter *a);
void local_start(struct local_job *job);
void local_start_anew(struct local_job *job);
/* Returns the daemon's environment with the variable by which local_look_starting() finds a runner that has not claimed
 * its job yet. The caller frees the list, not the strings. */
char **local_runner_environment(char *mark);

/* local_starter.c: the process that stands by to become runners. */
/* Orders a runner for the job. Returns false if a new process has to be started for it: there is no starter (then one
 * is started soon), or it cannot accept the order. */
bool local_starter_take(struct local_job *job);
/* says whether this ended child was the starter, which is then waited for */
bool local_starter_ended(struct adapter *a, pid_t pid);
void local_starter_stop(struct adapter *a);

/* local_runner.c: the process of a job. */
void local_child(struct local_job *job, pid_t pid); /* the job has this runner, our child */
void local_wait(struct adapter *a);                 /* waits for children that have ended, after SIGCHLD */
/* Takes over the runner of a claim. 0, or -1 if it ended meanwhile. */
int local_adopt(struct local_job *job, const struct claim *claim);
int local_runner_signal(struct local_job *job, int sig);
void local_terminate(struct local_job *job); /* sends SIGTERM to the runner, and kills it if it does not end in time */
bool local_runner_ready(const struct local_job *job); /* says whether it has set its signals up */
/* Kills the job's runner now, and then all that it has started; `why`, which is not copied, becomes the reason of its
 * end. */
void local_kill(struct local_job *job, const char *why);
void local_close_handles(struct local_job *job);

/* local_look.c: finds out about a job from its files and processes. */
enum local_found {
    LOCAL_FOUND_NOTHING, /* no runner ever claimed it */
    LOCAL_FOUND_ALIVE,
    LOCAL_FOUND_ENDED, /* ended.json is there */
    /* a runner claimed it and is gone without ended.json; the processes that it left have been ended */
    LOCAL_FOUND_LOST,
    LOCAL_FOUND_UNSURE /* the files could not be read */
};

struct local_look {
    enum local_found found;
    struct claim claim; /* not set for NOTHING */
    char reason[256];   /* from ended.json */
    char log_line[200]; /* the last line of runner.log */
    struct error err;   /* set for UNSURE */
};

/* Looks at one job. It blocks, and is called on worker threads only. Setting `stop` makes it hurry. */
void local_look(const char *dir, const char *name, const atomic_bool *stop, struct local_look *out);
/* Waits, for jobs without a claim, until runners that are just being started have claimed theirs or are gone. A runner
 * that hangs is killed: it has started nothing. It is called on worker threads only. */
struct local_looked {
    const char *dir, *name;
    struct local_look look;
};
void local_look_starting(struct local_looked *looked, size_t n, const atomic_bool *stop);
/* Finds out on a worker thread how a job's runner ended, and ends or adopts the job accordingly. */
void local_look_into(struct local_job *job);

/* local_ask.c: poll, find, cancel, signal. */
void local_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);
void local_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg);
void local_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg);

#endif
