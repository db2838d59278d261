/* The parts of the ALPS adapter. It works inside of an allocation that some batch system gave, on its service (MOM) node: each job is
 * an aprun, a process that blocks until its application on the compute nodes has ended. A node has one application at a time, so
 * the adapter keeps the table of nodes, gives each job one of its own, by -L, and lets the others wait.
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

enum alps_state { ALPS_WAITS, ALPS_RUNS, ALPS_LOOKED_AT, ALPS_OVER }; /* LOOKED_AT: aprun has ended, its output is being read */

struct alps_node {
    int nid;
    struct alps_job *job;
    uint64_t not_before; /* loop time; ALPS would not have it before */
    uint64_t wait_ms;    /* the next time that it will not */
};

struct alps_job {
    struct adapter *a;
    char name[64], *dir;
    struct adapter_resources want; /* only what is not borrowed */
    json_t *extra;
    int64_t grace_ms, started_ms;
    uint64_t serial, kill_at, over_at; /* order of submission; loop times, 0: none */
    enum alps_state state;
    struct alps_node *node;
    int nid;
    pid_t pid;
    uv_process_t process; /* of one that this daemon started */
    uv_poll_t watch;      /* of one that it found: on a pidfd */
    int pidfd;
    bool watched, cancelled, node_lost;
    char reason[256];
    UT_hash_handle hh;
};

/* What the files of a job's directory tell. */
struct alps_files {
    pid_t pid; /* of an aprun that is there; 0: none */
    int nid;
    bool begun, claimed, ended; /* there is an `aprun`; claim.json; ended.json */
    long long apid;             /* 0: not known */
    char words[200];            /* in which aprun told of its end */
    char said[160];             /* the last words of a runner that did not come to its end */
    bool node_lost, no_room;    /* it could not be placed */
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

/* alps_files.c: from any thread. */
void alps_files_read(const char *dir, struct alps_files *files);

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

/* alps_start.c: on this node, which is free. The job still waits where there was no room for a process. */
void alps_start(struct alps_job *job, struct alps_node *node);

/* alps_ask.c: the methods. */
void alps_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);
void alps_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg);
void alps_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg);
#endif
