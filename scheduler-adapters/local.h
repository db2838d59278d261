/* The parts of the local adapter: jobs are runners on this machine, in as many CPU slots as it has.
 *
 * A job in memory is QUEUED, STARTING while the starter or a worker thread starts its runner, then RUNNING while its runner lives,
 * LOOKING while a worker thread finds out how a runner ended that did not end well (and ends what it left), then ENDED. Jobs that
 * are not in memory, because another daemon started them, are known by what lies in their directories. */
#ifndef SCHEDULER_ADAPTERS_LOCAL_H
#define SCHEDULER_ADAPTERS_LOCAL_H
#include "scheduler-adapters/adapter.h"
#include "scheduler-adapters/answers.h"
#include "tasks/proto/claim.h"

#include <spawn.h>
#include <stdatomic.h>
#include <uthash.h>

/* What a job takes of the machine. */
struct local_need {
    int64_t slots, gpus, memory;
};

struct local_gpu {
    char *id; /* as CUDA_VISIBLE_DEVICES names it */
    const struct local_job *job; /* that has it; NULL: free */
};

struct local_need local_need(const struct adapter_resources *want);

enum local_state { LOCAL_QUEUED, LOCAL_STARTING, LOCAL_RUNNING, LOCAL_LOOKING, LOCAL_ENDED };

struct local_job {
    struct local_job *prev, *next; /* in one of the adapter's lists */
    UT_hash_handle hh;             /* by name */
    struct adapter *a;
    char *name, *dir;
    char *descriptor; /* to be handed over; NULL: it lies in the directory */
    int letter;       /* in which it was, and the answer will be; -1: none */
    char *answer;     /* the exit records of one that has ended; NULL: none, or taken */
    struct local_need need;
    int64_t walltime_ms, grace_ms;
    enum local_state state;
    struct adapter_status status; /* as polls report it */

    pid_t pid;   /* of the runner */
    bool child;  /* it is ours, and was not waited for: its number is its own */
    unsigned long long start_time; /* of an adopted one */
    int pidfd;                     /* likewise; -1: none */
    uv_poll_t *watch;              /* likewise, by its pidfd */
    uv_timer_t *look_again; /* where the kernel gives no pidfd, or the run directory could not be read */
    uv_timer_t *limit;      /* when the runner and all it started are killed, and why */
    const char *limit_why;
    const char *killed_for; /* the limit was reached */
    int seen_stopped;       /* in so many looks in a row its runner was stopped */
    bool cancelled;
    int exit_status, exit_signal; /* of a runner of ours */
    adapter_submit_cb *submitted; /* to be answered once its start has succeeded or failed; NULL: nobody waits */
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
    size_t finding;         /* questions under way about jobs of which nothing is known: none starts meanwhile */
    bool unsure;            /* the last of them had no answer: nor then, since those jobs may have GPUs */
    struct local_job *jobs; /* all */
    struct local_list queue, children, ended;
    struct {
        uv_poll_t *watch; /* NULL: there is none */
        int fd;
        pid_t pid; /* 0: none that was not waited for */
        bool raising;
        uint64_t not_before;     /* the loop's time */
        struct local_list asked; /* jobs, in the order of its answers */
    } starter;
    posix_spawn_file_actions_t actions; /* of every runner, likewise its attributes */
    posix_spawnattr_t attributes;
    uv_signal_t sigchld;
    uv_timer_t retry; /* starting runners again after the machine had no room for a process */
    uv_timer_t stopped; /* looks for runners that are */
    int64_t stopped_ms; /* after which one is killed */
    int handles;      /* of these three, that are not closed */
    bool poke_queued;
    size_t workers; /* under way */
    atomic_bool closing;
    void (*destroyed)(void *arg);
    void *destroyed_arg;
};

/* local.c */
void local_poke(struct adapter *a);       /* tell the engine, once a turn */
void local_worker_done(struct adapter *a); /* call last in every uv_after_work_cb */

/* local_stopped.c: from now on, runners that stay stopped are killed. */
void local_stopped_start(struct adapter *a);

/* local_machine.c: fill in `have`, `gpus` and `stopped_ms`. 0, or -1 where the configuration is wrong. */
int local_machine(struct adapter *a, const json_t *config, struct error *err);

/* local_gpus.c: which job has which GPU. */
void local_gpus_give(struct local_job *job);                  /* as many as it needs, of those that are free */
void local_gpus_note(struct local_job *job, const char *ids); /* those that it has already, separated by commas */
void local_gpus_take_back(struct local_job *job);
int64_t local_gpus_free(const struct adapter *a);
char *local_gpus_option(const struct local_job *job); /* for the runner, to be freed */

/* local_queue.c: jobs by name, the queue and the slots. */
struct local_job *local_job_find(struct adapter *a, const char *name);
struct local_job *local_job_create(struct adapter *a, const struct adapter_job *job);
void local_job_free(struct local_job *job); /* and forget it; closes its handles, ends nothing */
void local_enqueue(struct local_job *job);
void local_schedule(struct adapter *a);          /* start from the head of the queue what fits */
void local_started(struct local_job *job, pid_t pid, int letter, int error); /* error: an errno, and there is no runner */
void local_start_again(struct local_job *job, const char *why); /* in a while: its runner has claimed nothing, and is gone */
char *local_take_records(struct adapter *a, const char *name);
void local_cancel_queued(struct local_job *job);
void local_take(struct local_job *job); /* its slots, also beyond what there is: an adopted job has them already */
/* It has ended with its whole tree: give its slots back and tell. reason is copied. */
void local_job_ended(struct local_job *job, const char *reason, bool node_lost);

void local_list_append(struct local_list *list, struct local_job *job);
void local_list_remove(struct local_list *list, struct local_job *job);

/* local_start.c: what is the same for every runner; and starting one: local_started() follows, on the loop's thread. */
void local_start_init(struct adapter *a);
void local_start_fini(struct adapter *a);
void local_start(struct local_job *job);
void local_start_anew(struct local_job *job);
/* The daemon's environment, with what local_look_starting() knows a runner by: before it has claimed its job, nothing
 * else tells whose it is. The list is to be freed, not the strings. */
char **local_runner_environment(char *mark);

/* local_starter.c: the process that stands by to become runners. */
bool local_starter_take(struct local_job *job, const char *gpus); /* false: the job is to be started anew; gpus NULL: not counted */
bool local_starter_ended(struct adapter *a, pid_t pid);           /* a child has: was it the starter? It is waited for then */
void local_starter_stop(struct adapter *a);

/* local_runner.c: the process of a job. */
void local_child(struct local_job *job, pid_t pid); /* it has this runner, started by us */
void local_wait(struct adapter *a);     /* for those of our runners that have ended: after SIGCHLD */
/* Take over the runner of a claim. 0, or -1 where it ended meanwhile. */
int local_adopt(struct local_job *job, const struct claim *claim);
int local_runner_signal(struct local_job *job, int sig);
void local_terminate(struct local_job *job); /* SIGTERM to the runner; killed where that does not help in time */
bool local_runner_ready(const struct local_job *job); /* has it set its signals up? */
/* Kill its runner now, and then what that has started; `why`, which is not copied, becomes the reason of its end. */
void local_kill(struct local_job *job, const char *why);
void local_limit(struct local_job *job, int64_t ms, const char *why); /* kill the tree in ms, if nothing else is sooner */
void local_close_handles(struct local_job *job);

/* local_look.c: what the files and processes of a job tell. */
enum local_found {
    LOCAL_FOUND_NOTHING, /* no runner ever claimed it */
    LOCAL_FOUND_ALIVE,
    LOCAL_FOUND_ENDED, /* ended.json is there */
    LOCAL_FOUND_LOST,  /* claimed, and the runner is gone without it; what it left has been ended */
    LOCAL_FOUND_UNSURE /* could not read */
};

struct local_look {
    enum local_found found;
    struct claim claim; /* not for NOTHING */
    char reason[256];   /* of ended.json */
    char log_line[200]; /* the last one of runner.log */
    struct error err;   /* for UNSURE */
};

/* Blocks: on worker threads only. `stop` set makes it hurry. */
void local_look(const char *dir, const char *name, const atomic_bool *stop, struct local_look *out);
/* On a worker: of those jobs of which no claim was found, wait until the runners that are just being started have claimed
 * theirs, or are gone. One that hangs is killed: it has started nothing. */
struct local_looked {
    const char *dir, *name;
    struct local_look look;
};
void local_look_starting(struct local_looked *looked, size_t n, const atomic_bool *stop);
/* Find out on a worker how a job's runner ended, and end or adopt the job accordingly. */
void local_look_into(struct local_job *job);

/* local_ask.c: poll, find, cancel, signal. */
void local_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);
void local_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg);
void local_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg);

#endif
