/* The links to the ranks of one generation. When another generation follows it, which keeps what these ranks have
 * acknowledged, the frames that they have not go on to the ranks of that one. */
#ifndef TASKS_MEMBER_GENERATION_H
#define TASKS_MEMBER_GENERATION_H
#include "tasks/member/discovery.h"
#include "tasks/member/link.h"
#include "tasks/proto/dealing.h"

/* All zero at first. */
struct generation {
    struct discovery ranks;
    void *zmq;
    int count;
    struct dealing *dealing; /* of steps to them */
    struct link **link;      /* one for each rank */
    zmq_pollitem_t *items;   /* one for each rank, for waiting */
};

/* Connects to all ranks, which are taken over and *ranks emptied, also on failure. Reads only the parts of `config`
 * that are the same for all generations: env, session, pool, slots and sent. They outlive the links. */
int generation_connect(struct generation *g, const struct link_config *config, struct discovery *ranks,
                       struct error *err);

/* Goes on to those ranks, which are taken over as above, with all frames that are not acknowledged, in their order. On
 * failure nothing can be sent any more. */
int generation_follow(struct generation *g, const struct link_config *config, struct discovery *ranks,
                      struct error *err);

/* Closes the links, without sending anything more. */
void generation_fini(struct generation *g);

/* Returns the link for the frames of that step. It depends on member and step alone, so that a step that a later
 * attempt sends again goes to the rank that knows it. */
struct link *generation_link(const struct generation *g, uint64_t member, int64_t step);

/* Sends the frames that are held. */
int generation_flush(struct generation *g, struct error *err);
#endif
