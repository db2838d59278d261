/* The parts of the simulated cluster: its jobs, their queue, and the runners on its nodes. Only the cluster's files
 * include this. */
#ifndef TESTS_SIM_CLUSTER_H
#define TESTS_SIM_CLUSTER_H
#include "tests/sim/sim.h"

#include <uthash.h>
#include <utlist.h>

/* One submission. A name may have been submitted twice: only one of the two can claim the job. */
struct cjob {
    struct cjob *next; /* of the same name */
    UT_hash_handle hh; /* by name; only the first of each name */
    char name[64], id[32];
    char *dir;
    enum adapter_state state; /* ADAPTER_JOB_UNKNOWN: forgotten */
    bool node_lost, cancelled, dead; /* dead: no process of it is left */
    int64_t visible_ms;              /* the submission was accepted, but takes effect only at this time */
    int64_t held_ms;                 /* not started before this time, while others may be */
    int64_t useless_ms; /* time since when it waits for nothing, counted while the daemon was up; 0: it does not */
    uint64_t useless_since;          /* the same, counted in answers */
    uint64_t told_in;                /* the last answer that was about it */
    bool told_ended, told_unknown;   /* the scheduler has told the daemon so */
    enum adapter_state lie;          /* the state that the scheduler reports until `lie_until` */
    int64_t lie_until;
    bool ordered;                    /* an order to cancel it was given, obeyed or not */
    bool never;                      /* the scheduler says that it can never run, which may be wrong */
    /* the scheduler reported the waiting job as running, and then as ended, because of another job's processes */
    bool phantom;
    int cpus, gpus, node;
    struct flight *flight; /* set for an allocation that has begun: pilots.h */
    bool holds; /* it has its CPUs */
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
    struct cjob *waiting;  /* jobs that wait for CPUs, in their order */
    json_t *running; /* task id → number of its processes that run now */
    uint64_t next_id;
    int live; /* queued or running */
    int64_t live_ms; /* when a job was last live */
    uint64_t answers;
    int polls_in_silence, cancels;
    json_t *signalled; /* ensembles of which a running job was ordered to end in this turn */
    /* questions without an answer yet; consecutive failures since the daemon was loaded */
    int polls_open, polls_failed;
    uint64_t polls_epoch;
    int64_t poll_failed_ms;
};

/* An event that happens to a job later. */
struct task_end {
    struct cluster *cluster;
    struct cjob *job;
    json_t *task; /* NULL if it is about the whole job */
};

/* cluster.c: the queue and its CPUs */
struct cjob *cluster_named(const struct cluster *c, const char *name); /* the first of that name */
bool cluster_is_live(enum adapter_state state); /* queued or running */
void cluster_set_state(struct cluster *c, struct cjob *job, enum adapter_state state);
void cluster_enqueue(struct cluster *c, const struct adapter_job *wanted, char id[32], int64_t visible_ms);
void cluster_start_at(struct cluster *c, struct cjob *job, int64_t when);
bool cluster_take_cpus(struct cluster *c, struct cjob *job); /* takes its CPUs; false: it waits for them */
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
bool checkpoints_any(const json_t *descriptor); /* tells whether a job's tasks are members that leave checkpoints */
void checkpoints_begin_task(struct cluster *c, const json_t *task);
/* leaves one, perhaps; called once, before the task's end */
void checkpoints_leave(struct cluster *c, const json_t *task);
bool checkpoints_are_done(struct cluster *c, const json_t *task);
void checkpoints_record(struct cluster *c, const json_t *task, json_t *record); /* adds them to an exit record */

/* rungs.c */
/* Returns the outcome of a task that ends by itself, if it is to end at a rung. */
const char *rungs_outcome(const json_t *task, const char *outcome);
/* Adds to an exit record what the task reported at its rung. */
void rungs_record(struct cluster *c, const json_t *task, const char *outcome, json_t *record);

/* points.c */
void points_begin(struct cluster *c, const json_t *task);
void points_end(struct cluster *c, const json_t *task);
/* Adds to an exit record how many bytes of points the task left. */
void points_record(struct cluster *c, const json_t *task, json_t *record);

/* ranks.c */
bool elastic_tells(const json_t *task); /* it is a rank that tells, from its beginning on, */
void elastic_tell(struct cluster *c, const json_t *rank); /* the ranks tell how long they have waited */
void ranks_begin(struct cluster *c, const json_t *rank);
/* Returns whether there are ranks that take the last samples of a member; otherwise it waits for them. */
bool ranks_take(struct cluster *c, const json_t *task);
void ranks_sent(struct cluster *c, const json_t *task); /* the attempt has told its end to them, after its samples */
void ranks_learn(struct cluster *c, const json_t *rank); /* learns something, and perhaps saves a checkpoint */
void ranks_get_on(struct cluster *c, const json_t *rank); /* learns all, and a batch more, and saves a checkpoint */
bool ranks_may_save(struct cluster *c, const json_t *rank); /* tells whether the spec asks for checkpoints */
/* Saves a checkpoint, which is a last one if the ranks end and hand over what they hold; false if the spec has
 * none. */
bool ranks_save(struct cluster *c, const json_t *rank, bool last);
bool ranks_are_to_end(struct cluster *c, const json_t *rank); /* tells whether another number of ranks is asked for */
/* The ranks begin again in their job, from the newest checkpoint, with the samples that they hold; false if that
 * would be more often than the training `may` by its descriptor. A rank fails, or is killed. */
bool ranks_begin_again(struct cluster *c, const json_t *rank, const json_t *may);
bool ranks_were_killed(struct cluster *c, const json_t *rank); /* they end since one of them was killed */

/* runners.c */
sim_event_fn runner_start; /* starts the job of the task_end, once there are CPUs for it */
void runner_nudge(struct cluster *c, const char *job, enum engine_look what);
/* A task has one process more, or less. */
void runner_count(struct cluster *c, const json_t *task, int change);
void runner_begin(struct cluster *c, const json_t *task, bool checkpoints);
/* Notes the true outcome of an attempt, or that no record may tell it, whatever the daemon learns. */
void runner_note(struct cluster *c, const json_t *task, const char *outcome);
void runner_note_unsure(struct cluster *c, const json_t *task);
/* Returns a new exit record. */
json_t *runner_record(struct cluster *c, const char *job, int64_t started_ms, bool checkpoints, const json_t *task,
                      const char *outcome);
#endif
