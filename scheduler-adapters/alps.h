/* The parts of the ALPS adapter. It works inside an allocation of some batch system, on its service (MOM) node. Each
 * job is an aprun, a process that blocks until its application on the compute nodes has ended. A node has one
 * application at a time, so the adapter keeps the table of nodes, gives each job some of its own (-L), and lets the
 * others wait. There are three kinds of jobs:
 * - one runner process, which starts the job's task or tasks on its node;
 * - a runner for each of the members that share the job, by one `aprun -n 10 -N 10`: each runner finds its own member
 *   by the number that ALPS gives it (stretto-run --rank), on CPUs that ALPS binds it to;
 * - a runner here, on the service node, which starts a member's program on the compute nodes, with aprun as its
 *   launcher, or a pilot on each of them.
 *
 * An aprun outlives the daemon: it has a session of its own, and describes itself in the file `aprun` of its job's
 * directory before it becomes aprun. The next daemon finds it by that file. That daemon cannot learn its exit status;
 * it reads what aprun prints at its end in `aprun.log`. */
#ifndef SCHEDULER_ADAPTERS_ALPS_H
#define SCHEDULER_ADAPTERS_ALPS_H
#include "scheduler-adapters/adapter.h"
#include "scheduler-adapters/answers.h"
#include "scheduler-adapters/command.h"

#include <uthash.h>

/* ALPS may refuse this often, in its own words, a job that is larger than a node. It may use the same words while it
 * has not yet seen that nodes are free again. */
#define ALPS_TRIES 5

/* LOOKED_AT: aprun has ended, and its output is being read */
enum alps_state { ALPS_WAITS, ALPS_RUNS, ALPS_LOOKED_AT, ALPS_OVER };

enum alps_kind { ALPS_ONE, ALPS_RANKS, ALPS_LAUNCHES };

struct alps_shape {
    enum alps_kind kind;
    int64_t n, each, nodes; /* processes in all, processes on a node, nodes */
    int64_t depth, mib;     /* of each process: CPUs (0: all that the node has) and memory (0: not said) */
    bool pilots;            /* the processes of a pilot */
};

struct alps_node {
    int nid;
    struct alps_job *job;
    uint64_t not_before; /* loop time before which ALPS is not asked for the node again */
    uint64_t wait_ms;    /* the pause after its next refusal */
};

/* The end of an application by aprun's last words. */
struct alps_end {
    bool node_lost;
    bool no_room;   /* ALPS found no room for the application */
    bool too_large; /* ALPS found no room although nodes were free */
    int lost_nid;   /* the node that was lost; -1: not known */
};

struct alps_job {
    struct adapter *a;
    char name[64], *dir;
    struct alps_shape shape;
    json_t *extra;
    int64_t grace_ms, least_ms, started_ms;
    uint64_t serial, kill_at, over_at; /* serial: the order of submission; the others: loop times, 0: none */
    enum alps_state state;
    char *nids; /* the job's nodes, as "3,4"; NULL: it never had any */
    pid_t pid;
    uv_process_t process; /* of an aprun that this daemon started */
    uv_poll_t watch;      /* of an aprun that an earlier daemon started: on a pidfd */
    int pidfd;
    bool watched, cancelled;
    bool placed;         /* its application has begun */
    bool adopted;        /* it was started by an earlier daemon */
    int too_large;       /* refusals in a row because it is more than a node has */
    struct alps_end end; /* once it is over */
    char reason[256];
    UT_hash_handle hh;
};

/* The contents of the files of a job's directory. */
struct alps_files {
    pid_t pid;                  /* of an aprun that is running; 0: none */
    char *nids;                 /* to be freed */
    bool begun, claimed, ended; /* the files `aprun`, claim.json and ended.json are there */
    long long apid;             /* 0: not known */
    char words[200];            /* the words in which aprun told of its end */
    char said[160];             /* the last words of a runner that did not reach its end */
    struct alps_end end;
};

struct adapter {
    struct adapter_host host;
    struct answers *answers;
    struct commands *commands;
    const char *aprun, *apkill;
    char **env;
    const json_t *extra;
    struct alps_node *node;
    size_t n_nodes;
    int64_t cpus, most, pause_ms, interval_ms; /* cpus: of a node, 0: not known */
    int64_t end;                               /* of the allocation, Unix seconds; 0: not known */
    bool told_of_end;
    struct error no_runner; /* text "": there is one */
    struct alps_job *jobs;
    uint64_t serial, next_start;
    uv_timer_t timer;

    size_t busy; /* answers that are owed, work under way, handles that are open */
    bool closing, closed;
    void (*destroyed)(void *arg);
    void *destroyed_arg;
};

/* alps.c */
void alps_busy(struct adapter *a);
void alps_idle(struct adapter *a); /* called last by the code that gives the answer */

/* alps_nids.c: reads node numbers such as "3-6,9", "nid00003,nid00007" or "nid000[03-06,09]" into a list that the
 * caller frees. -1: the text is none of these. */
int alps_nids_parse(const char *text, int **nids, size_t *n);
/* Finds the nodes of the allocation that this process is in; -1 if no variable has them. */
int alps_nids_find(int **nids, size_t *n);

/* alps_nodes.c */
/* sets `next` to the time when there may be more, if that is sooner */
size_t alps_nodes_free(const struct adapter *a, uint64_t now, uint64_t *next);
void alps_nodes_take(struct alps_job *job, size_t n, uint64_t now); /* takes n free nodes */
void alps_nodes_take_again(struct alps_job *job, const char *nids); /* takes the nodes that it has had all the time */
/* refused: ALPS would not give them, and is not asked for a while */
void alps_nodes_leave(struct alps_job *job, bool refused);
void alps_nodes_lost(struct adapter *a, int nid); /* the node is not used for a while; -1: none */
/* the name of the first node; "" if there is none */
void alps_nodes_name(const char *nids, char *host, size_t size);

/* alps_options.c: refuses options on which the adapter relies */
int alps_check_options(const json_t *extra, const char *code, struct error *err);

/* alps_shape.c */
void alps_shape(const struct adapter *a, const struct adapter_resources *want, struct alps_shape *shape);
int alps_check_nodes(const struct adapter *a, struct error *err); /* fails if no nodes are known */
int alps_check(struct adapter *a, const struct adapter_resources *want, struct error *err);
/* The same check for a job of an accepted ensemble, whose last job may have fewer members. */
int alps_check_room(const struct adapter *a, const struct adapter_resources *want, struct error *err);

/* alps_files.c: callable from any thread. The caller gives `files` back by alps_files_fini(). */
void alps_files_read(const char *dir, struct alps_files *files);
void alps_files_fini(struct alps_files *files);

/* alps_queue.c: jobs, from submission to their end. */
struct alps_job *alps_job_find(struct adapter *a, const char *name);
void alps_submit(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg);
void alps_turn(struct adapter *a); /* starts the jobs that can start, and sets a timer for those that can later */
/* Takes over an aprun that an earlier daemon started. */
struct alps_job *alps_adopt(struct adapter *a, const struct adapter_job *job, const struct alps_files *files);
void alps_job_over(struct alps_job *job, const char *reason);
/* aprun passes it on to its application, unless it is SIGKILL */
void alps_signal_aprun(const struct alps_job *job, int sig);
void alps_forget_all(struct adapter *a); /* stops watching the jobs, which go on */

void alps_exited(uv_process_t *process, int64_t status, int sig);
void alps_let_go(uv_handle_t *handle); /* closes the handle that watched the job's process */

/* alps_start.c: starts the job on the nodes that it was given. False if the process could not be started. */
bool alps_start(struct alps_job *job);

/* alps_ask.c: the methods. */
void alps_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);
void alps_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg);
void alps_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg);
#endif
