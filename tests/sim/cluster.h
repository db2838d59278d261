/* The simulated cluster's own: its jobs, their queue, and what runners do on its nodes. Shared by its files only. */
#ifndef TESTS_SIM_CLUSTER_H
#define TESTS_SIM_CLUSTER_H
#include "tests/sim/sim.h"

#include <uthash.h>
#include <utlist.h>

/* One submission. A name may have been submitted twice: only one of them can claim it. */
struct cjob {
    struct cjob *next; /* of the same name */
    UT_hash_handle hh; /* the first of each name, by it */
    char name[64], id[32];
    char *dir;
    enum adapter_state state; /* ADAPTER_JOB_UNKNOWN: forgotten */
    bool node_lost, cancelled, dead; /* dead: no process of it is left */
    int64_t visible_ms;              /* a submission that was accepted, but is worked off only then */
    int64_t held_ms;                 /* not started before then, and passed by others meanwhile */
    int64_t useless_ms;              /* since when it waits for nothing, counted while the daemon was up; 0: it does not */
    uint64_t useless_since;          /* likewise in answers */
    uint64_t told_in;                /* the last answer that was about it */
    bool told_ended, told_unknown;   /* by the scheduler, to the daemon */
    enum adapter_state lie;          /* what it says of the job until then */
    int64_t lie_until;
    bool never;                      /* it cannot run, as it says; or can, after all */
    bool phantom;                    /* it said of one that waits that it runs, and then that it has ended: of another one's processes */
    int cpus, gpus, node;
    struct flight *flight; /* where it is an allocation that has begun: pilots.h */
    bool holds; /* its CPUs */
    struct cjob *wait_prev, *wait_next;
    int64_t started_ms;
};

struct cluster {
    struct sim *sim;
    struct adapter_host host;
    struct cjob *jobs;
    struct question *questions;
    struct flight *flights;
    int adapter;
    int used;              /* CPUs */
    struct cjob *waiting;  /* for CPUs, first come first served */
    json_t *running; /* task id → how many processes of it run now */
    uint64_t next_id;
    int live; /* queued or running */
    int64_t live_ms; /* when one was, last */
    uint64_t answers;
    int polls_in_silence, cancels;
    int polls_open, polls_failed; /* questions that were not answered yet; in vain, one after the other: since it was loaded */
    uint64_t polls_epoch;
    int64_t poll_failed_ms;
};

/* Something that happens to a job later. */
struct task_end {
    struct cluster *cluster;
    struct cjob *job;
    json_t *task; /* NULL where it is about the whole job */
};

/* cluster.c: the queue and its CPUs */
struct cjob *cluster_named(const struct cluster *c, const char *name); /* the first of that name */
bool cluster_is_live(enum adapter_state state); /* queued or running */
void cluster_set_state(struct cluster *c, struct cjob *job, enum adapter_state state);
void cluster_enqueue(struct cluster *c, const struct adapter_job *wanted, char id[32], int64_t visible_ms);
void cluster_start_at(struct cluster *c, struct cjob *job, int64_t when);
bool cluster_take_cpus(struct cluster *c, struct cjob *job); /* has it its CPUs now, or does it wait for them? */
void cluster_release(struct cluster *c, struct cjob *job);
void cluster_wake_waiting(struct cluster *c);
void cluster_over(struct cluster *c, struct cjob *job); /* its runner has ended, which the scheduler notes later */
int64_t cluster_soon(struct cluster *c, uint64_t below);
void cluster_poke(struct cluster *c);
void task_end_free(struct task_end *end);

/* Files of the run directory. */
void cluster_put(struct cluster *c, const char *dir, const char *name, json_t *json);
json_t *cluster_get(struct cluster *c, const char *dir, const char *name); /* borrowed; NULL: it is not there */
void cluster_drop(struct cluster *c, const char *dir, const char *name);

/* checkpoints.c */
bool checkpoints_any(const json_t *descriptor); /* do a job's tasks leave any? */
void checkpoints_begin_task(struct cluster *c, const json_t *task);
void checkpoints_leave(struct cluster *c, const json_t *task); /* one, perhaps; called once, before its end */
bool checkpoints_are_done(struct cluster *c, const json_t *task);
void checkpoints_record(struct cluster *c, const json_t *task, json_t *record); /* what its exit record says of them */

/* runners.c */
sim_event_fn runner_start; /* the job of the task_end, once there are CPUs for it */
void runner_nudge(struct cluster *c, const char *job, enum engine_look what);
/* A task has one process more, or less. */
void runner_count(struct cluster *c, const json_t *task, int change);
void runner_begin(struct cluster *c, const json_t *task, bool checkpoints);
/* What is true of an attempt, whatever the daemon comes to know; that nothing may tell of it. */
void runner_note(struct cluster *c, const json_t *task, const char *outcome);
void runner_note_unsure(struct cluster *c, const json_t *task);
/* An exit record: new. */
json_t *runner_record(struct cluster *c, const char *job, int64_t started_ms, bool checkpoints, const json_t *task, const char *outcome);
#endif
