/* Pilots of the simulated cluster, as its watchers see them. */
#ifndef TESTS_SIM_PILOTS_H
#define TESTS_SIM_PILOTS_H
#include "common/text.h"
#include "tests/sim/cluster.h"

enum inner_state { INNER_QUEUED, INNER_RUNNING, INNER_RETURNED, INNER_ENDED };

/* A job that a node was handed. */
struct inner {
    struct inner *prev, *next;
    struct node *node;
    enum inner_state state;
    char name[64], *dir;
    json_t *descriptor, *records; /* records: of its tasks; null while a task runs */
    size_t open;                  /* tasks that have not ended */
    int64_t cpus, gpus, memory, least_ms, started_ms, ended_ms;
    bool told_to_end;
    size_t said; /* its records are in the journal up to this offset; 0: they are not */
    int64_t unwanted_ms; /* time for which it has run since it was to be cancelled, counted while the daemon was up */
};

struct node {
    struct flight *flight;
    int number;
    char *dir;
    bool up, gone;
    int64_t cpus, gpus, memory, cpus_used, gpus_used, memory_used;
    int running;
    int64_t idle_since;
    struct inner *jobs;  /* all that it was ever handed, in that order */
    json_t *inbox;       /* file → text */
    struct text journal;
    size_t synced;       /* the part that survives a crash of the node */
    int64_t synced_ms;
};

/* The nodes of a job that is an allocation. */
struct flight {
    struct flight *next;
    struct cluster *cluster;
    struct cjob *job;
    struct node *nodes;
    int n_nodes;
    int64_t idle_ms, least_ms;
    int64_t deadline_ms; /* by the daemon's clock; INT64_MAX: none */
    int64_t skew_ms;     /* of its nodes' clocks */
    bool stopping, over;
    bool begun; /* a job of members has begun in it */
    const char *outcome;
};

/* flights.c */
void pilots_start(struct cluster *c, struct cjob *job); /* its runner has claimed it */
void pilots_stop(struct flight *flight, const char *outcome); /* it is told to end */
void pilots_kill(struct flight *flight);                      /* it is killed */
void pilots_node_gone(struct flight *flight); /* the allocation is over with its last node */
void pilots_destroy(struct cluster *c);

/* pilots.c: pilots_queued(): the first job that waits. pilots_say(): adds a line to the journal, which is taken over.
 * pilots_return(): returns a job. pilots_end(): tells its tasks to end. pilots_settle(): goes on with the node's work.
 * pilots_kill_node(): kills the node, or its pilot alone. */
struct inner *pilots_queued(const struct node *node);
void pilots_say(struct node *node, const char *what, json_t *line);
void pilots_return(struct inner *inner, const char *why);
void pilots_end(struct inner *inner, const char *outcome, bool late);
void pilots_settle(struct node *node);
void pilots_kill_node(struct node *node, bool crash);

/* inbox.c */
/* Handles a file that was written to the run directory; false: it is not in an inbox. */
bool pilots_take(struct sim *sim, const char *path, const char *text);
/* The journal with that path, NULL if there is none. */
const struct text *pilots_journal(struct sim *sim, const char *path);
/* The allocation of that job; NULL if it has not begun. */
const struct flight *pilots_of(struct sim *sim, const char *job);
#endif
