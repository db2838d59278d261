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
    json_t *descriptor, *records; /* of its tasks, null: runs */
    size_t open;                  /* tasks */
    int64_t cpus, gpus, memory, least_ms, started_ms, ended_ms;
    bool told_to_end;
    size_t said; /* its records stand in the journal, up to there; 0: they do not */
    int64_t unwanted_ms; /* since when it was to be cancelled, and runs, counted while the daemon was up */
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
    size_t synced;       /* what a crash of the node leaves of it */
    int64_t synced_ms;
};

/* What runs of a job that is an allocation. */
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
void pilots_kill(struct flight *flight);                      /* it is no more */
void pilots_node_gone(struct flight *flight); /* it is over with the last */
void pilots_destroy(struct cluster *c);

/* pilots.c: the first job that waits; a line of the journal, taken over; a job is returned; its tasks are told to end; what the node does next; it, or its
 * pilot alone, is no more */
struct inner *pilots_queued(const struct node *node);
void pilots_say(struct node *node, const char *what, json_t *line);
void pilots_return(struct inner *inner, const char *why);
void pilots_end(struct inner *inner, const char *outcome, bool late);
void pilots_settle(struct node *node);
void pilots_kill_node(struct node *node, bool crash);

/* inbox.c */
/* A file was renamed into a place of the run directory: is that an inbox? */
bool pilots_take(struct sim *sim, const char *path, const char *text);
/* The journal of that path, NULL where there is none. */
const struct text *pilots_journal(struct sim *sim, const char *path);
/* The allocation of that job; NULL where it has not begun. */
const struct flight *pilots_of(struct sim *sim, const char *job);
#endif
