/* The parts of the ALPS adapter. It works inside of an allocation that some batch system gave, on its service (MOM) node: each job is
 * an aprun, a process that blocks until its application on the compute nodes has ended. A node has one application at a time, so
 * the adapter keeps the table of nodes, gives each job some of its own, by -L, and lets the others wait. There are three kinds:
 *
 * - one process, a runner, that starts the job's task or tasks on its node;
 * - a runner for each of the members that share the job, by one `aprun -n 10 -N 10`: each finds its own member by the number that
 *   ALPS gives it (stretto-run --rank), on CPUs that ALPS binds it to;
 * - a runner here, on the service node, that starts a member's program on the compute nodes, by aprun as its launcher, or a pilot
 *   on each of them.
 *
 * An aprun outlives the daemon: it is in a session of its own, and what it is stands in the file `aprun` of its job's directory,
 * written by the process itself before it becomes one. The next daemon finds it there. Its exit status is then nobody's to know;
 * what it prints at its end, in `aprun.log`, is. */
#ifndef SCHEDULER_ADAPTERS_ALPS_H
#define SCHEDULER_ADAPTERS_ALPS_H
#include "scheduler-adapters/adapter.h"
#include "scheduler-adapters/answers.h"
#include "scheduler-adapters/command.h"

#include <uthash.h>

/* How often ALPS may refuse what is more than a node has, in its words: that it takes a while to see that nodes are free again may be
 * told by them, too. */
#define ALPS_TRIES 5

enum alps_state { ALPS_WAITS, ALPS_RUNS, ALPS_LOOKED_AT, ALPS_OVER }; /* LOOKED_AT: aprun has ended, its output is being read */

enum alps_kind { ALPS_ONE, ALPS_RANKS, ALPS_LAUNCHES };

struct alps_shape {
    enum alps_kind kind;
    int64_t n, each, nodes; /* processes, on a node, nodes */
    int64_t depth, mib;     /* of a process: CPUs, 0: all that the node has; and memory, 0: not said */
    bool pilots;            /* the processes of a pilot */
};

struct alps_node {
    int nid;
    struct alps_job *job;
    uint64_t not_before; /* loop time; ALPS would not have it before */
    uint64_t wait_ms;    /* the next time that it will not */
};

struct alps_job {
    struct adapter *a;
    char name[64], *dir;
    struct alps_shape shape;
    json_t *extra;
    int64_t grace_ms, least_ms, started_ms;
    uint64_t serial, kill_at, over_at; /* order of submission; loop times, 0: none */
    enum alps_state state;
    char *nids; /* its nodes: "3,4"; NULL: it never had any */
    pid_t pid;
    uv_process_t process; /* of one that this daemon started */
    uv_poll_t watch;      /* of one that it found: on a pidfd */
    int pidfd;
    bool watched, cancelled, node_lost;
    bool no_room;  /* it could not be placed on its nodes, and has given that up */
    bool placed;   /* its application has begun */
    int too_large; /* how often in a row that was so since it is more than a node has */
    int lost_nid;  /* see alps_files */
    bool adopted;  /* it was started by an earlier daemon */
    char reason[256];
    UT_hash_handle hh;
};

/* What the files of a job's directory tell. */
struct alps_files {
    pid_t pid; /* of an aprun that is there; 0: none */
    char *nids; /* to be freed */
    bool begun, claimed, ended; /* there is an `aprun`; claim.json; ended.json */
    long long apid;             /* 0: not known */
    char words[200];            /* in which aprun told of its end */
    char said[160];             /* the last words of a runner that did not come to its end */
    bool node_lost, no_room;    /* it could not be placed; */
    bool too_large;             /* and not for want of nodes */
    int lost_nid;               /* the node that was lost; -1: not known */
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
    struct error no_runner;                    /* text "": there is one */
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
void alps_idle(struct adapter *a); /* last in whatever gives the answer */

/* alps_nids.c: "3-6,9", "nid00003,nid00007", "nid000[03-06,09]": the numbers, to be freed. -1: it is none of these. */
int alps_nids_parse(const char *text, int **nids, size_t *n);
/* Of the allocation that this process is in; -1 where it is in none that tells. */
int alps_nids_find(int **nids, size_t *n);

/* alps_nodes.c */
size_t alps_nodes_free(const struct adapter *a, uint64_t now, uint64_t *next); /* next: when there may be more, if that is sooner */
void alps_nodes_take(struct alps_job *job, size_t n, uint64_t now); /* free ones */
void alps_nodes_take_again(struct alps_job *job, const char *nids); /* that it has had all the time */
void alps_nodes_leave(struct alps_job *job, bool refused); /* refused: ALPS would not give them, and is not asked for a while */
void alps_nodes_lost(struct adapter *a, int nid); /* for a while it is not taken again; -1: none */
void alps_nodes_name(const char *nids, char *host, size_t size); /* the first one's; "" where there is none */

/* alps_shape.c */
void alps_shape(const struct adapter *a, const struct adapter_resources *want, struct alps_shape *shape);
int alps_check_options(const json_t *extra, const char *code, struct error *err); /* none that the adapter itself gives */
int alps_check_nodes(const struct adapter *a, struct error *err); /* are any known? */
int alps_check(struct adapter *a, const struct adapter_resources *want, struct error *err);
/* The same of a job of what was accepted: of the last one of an ensemble, which may have fewer members. */
int alps_check_room(const struct adapter *a, const struct adapter_resources *want, struct error *err);

/* alps_files.c: from any thread. To be given back by alps_files_fini(). */
void alps_files_read(const char *dir, struct alps_files *files);
void alps_files_fini(struct alps_files *files);

/* alps_queue.c: jobs, from submission to their end. */
struct alps_job *alps_job_find(struct adapter *a, const char *name);
void alps_submit(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg);
void alps_turn(struct adapter *a); /* start what can be started, and come back when there is more to do */
/* One that an earlier daemon started. */
struct alps_job *alps_adopt(struct adapter *a, const struct adapter_job *job, const struct alps_files *files);
void alps_job_over(struct alps_job *job, const char *reason);
void alps_signal_aprun(const struct alps_job *job, int sig); /* which passes it on, unless it is SIGKILL */
void alps_kill(struct alps_job *job); /* with its application */
void alps_forget_all(struct adapter *a); /* jobs go on */

void alps_exited(uv_process_t *process, int64_t status, int sig);
void alps_let_go(uv_handle_t *handle); /* its process is not watched any more */

/* alps_start.c: on the nodes that it was given. False where there was no room for a process. */
bool alps_start(struct alps_job *job);

/* alps_ask.c: the methods. */
void alps_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);
void alps_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg);
void alps_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg);
#endif
