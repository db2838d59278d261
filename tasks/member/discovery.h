/* Finding the ranks by the files that they leave in the run directory. */
#ifndef TASKS_MEMBER_DISCOVERY_H
#define TASKS_MEMBER_DISCOVERY_H
#include "common/error.h"
#include "tasks/member/environment.h"

#define RANKS_MAX 65536

struct discovery {
    uint32_t generation;
    int ranks;
    char **endpoint; /* one a rank */
};

/* Wait until every rank of the current generation has told its endpoint, or the deadline has come. A generation that
 * changes meanwhile is followed. On success *found is the caller's, for discovery_fini(). */
int discovery_wait(const struct environment *env, struct discovery *found, struct error *err);
void discovery_fini(struct discovery *found);
#endif
