/* Finds the ranks by the files that they leave in the run directory. */
#ifndef TASKS_MEMBER_DISCOVERY_H
#define TASKS_MEMBER_DISCOVERY_H
#include "common/error.h"
#include "tasks/member/environment.h"

#define RANKS_MAX 65536
#define DISCOVERY_NOT_YET (-2)

/* The addresses at which a rank can be reached. */
struct rank_address {
    char **endpoint; /* addresses to try, the most likely ones first */
    size_t endpoints;
    char *curve; /* public key of the rank, for endpoints on the network; NULL if there are none */
};

/* All zero at first. */
struct discovery {
    uint32_t generation;
    int ranks;
    struct rank_address *address; /* one for each rank */
    int64_t began, next_look;     /* monotonic ms; for waits that take several calls */
    int64_t pause;                /* ms between looks; it grows */
    bool said;
};

/* Waits until every rank of the current generation has published its endpoint, or the deadline has come; returns
 * DISCOVERY_NOT_YET if `until` (monotonic ms) comes first. A generation that changes meanwhile is followed. On
 * success the caller frees *found by discovery_fini(). */
int discovery_wait(const struct environment *env, int64_t until, struct discovery *found, struct error *err);

/* Looks once whether a generation later than that one is the current one, keeps what the ranks of that one have
 * acknowledged, and has published all endpoints. Only then *found is to be freed by discovery_fini(). */
bool discovery_later(const struct environment *env, uint32_t generation, struct discovery *found);
void discovery_fini(struct discovery *found);
#endif
