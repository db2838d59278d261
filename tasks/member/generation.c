#include "tasks/member/generation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW_FRAMES 1024 /* for each rank */

/* All frames that are not acknowledged. */
struct baggage {
    struct unheld *frame; /* in their order */
    size_t frames;
    size_t *share; /* for each new rank: how many frames go to it */
};

static int no_memory_for_links(struct error *err)
{
    return error_set(err, "stream_memory", "no memory for the stream");
}

struct link *generation_link(const struct generation *g, uint64_t member, int64_t step)
{
    return g->link[dealing_rank(g->dealing, member, step)];
}

int generation_flush(struct generation *g, struct error *err)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < g->count; i++)
        rc = link_flush(g->link[i], err);
    return rc;
}

/* Links to all ranks; `share`, if it is not NULL, gives how many frames each takes over. */
static int connect_generation(struct generation *g, const struct link_config *common, const size_t *share,
                              struct error *err)
{
    struct link_config config = *common;
    int ranks = g->ranks.ranks;

    g->zmq = zmq_ctx_new();
    g->link = calloc((size_t)ranks, sizeof(struct link *));
    g->items = calloc((size_t)ranks, sizeof *g->items);
    if (g->zmq == NULL || g->link == NULL || g->items == NULL)
        return no_memory_for_links(err);
    zmq_ctx_set(g->zmq, ZMQ_MAX_SOCKETS, ranks + 8);
    config.zmq = g->zmq;
    config.generation = g->ranks.generation;
    config.window_bytes = FRAME_WINDOW_BYTES / (size_t)ranks;
    config.window_frames = WINDOW_FRAMES;
    for (; g->count < ranks; g->count++) {
        config.rank = g->count;
        config.address = &g->ranks.address[g->count];
        config.backlog = share != NULL ? share[g->count] : 0;
        g->link[g->count] = link_create(&config, err);
        if (g->link[g->count] == NULL)
            return -1;
    }
    return 0;
}

static int take_ranks(struct generation *g, struct discovery *ranks, struct error *err)
{
    *g = (struct generation){.ranks = *ranks, .dealing = dealing_create(ranks->ranks)};
    memset(ranks, 0, sizeof *ranks);
    return g->dealing != NULL ? 0 : no_memory_for_links(err);
}

int generation_connect(struct generation *g, const struct link_config *config, struct discovery *ranks,
                       struct error *err)
{
    return take_ranks(g, ranks, err) == 0 ? connect_generation(g, config, NULL, err) : -1;
}

/* Ends the context and its threads: no message is read by them any more. */
static void hang_up(struct generation *g)
{
    for (int i = 0; i < g->count; i++)
        link_hang_up(g->link[i]);
    if (g->zmq != NULL)
        while (zmq_ctx_term(g->zmq) != 0 && zmq_errno() == EINTR)
            ;
    g->zmq = NULL;
}

void generation_fini(struct generation *g)
{
    hang_up(g);
    for (int i = 0; i < g->count; i++)
        link_destroy(g->link[i]);
    dealing_destroy(g->dealing);
    free(g->link);
    free(g->items);
    discovery_fini(&g->ranks);
    memset(g, 0, sizeof *g);
}

static int unheld_by_place(const void *a, const void *b)
{
    uint64_t x = ((const struct unheld *)a)->place, y = ((const struct unheld *)b)->place;

    return x < y ? -1 : x > y;
}

static int pack_unheld(struct baggage *b, const struct generation *g, const struct generation *next, struct error *err)
{
    for (int i = 0; i < g->count; i++)
        b->frames += link_unheld(g->link[i], NULL);
    b->share = calloc((size_t)next->ranks.ranks, sizeof *b->share);
    b->frame = calloc(b->frames + 1, sizeof *b->frame);
    if (b->share == NULL || b->frame == NULL)
        return no_memory_for_links(err);
    b->frames = 0;
    for (int i = 0; i < g->count; i++)
        b->frames += link_unheld(g->link[i], b->frame + b->frames);
    qsort(b->frame, b->frames, sizeof *b->frame, unheld_by_place);
    for (size_t i = 0; i < b->frames; i++)
        b->share[dealing_rank(next->dealing, b->frame[i].f.member, b->frame[i].f.step)]++;
    return 0;
}

static int unpack(struct generation *g, struct baggage *b, struct error *err)
{
    for (size_t i = 0; i < b->frames; i++)
        if (link_adopt(generation_link(g, b->frame[i].f.member, b->frame[i].f.step), &b->frame[i], err) < 0)
            return -1;
    return generation_flush(g, err);
}

int generation_follow(struct generation *g, const struct link_config *config, struct discovery *ranks,
                      struct error *err)
{
    struct generation next;
    struct baggage b = {.frame = NULL};
    int rc = take_ranks(&next, ranks, err);

    if (rc == 0)
        rc = generation_flush(g, err);
    hang_up(g);
    if (rc == 0 && pack_unheld(&b, g, &next, err) == 0 && connect_generation(&next, config, b.share, err) == 0 &&
        unpack(&next, &b, err) == 0) {
        generation_fini(g);
        *g = next;
    } else {
        generation_fini(&next);
        rc = -1;
    }
    free(b.frame);
    free(b.share);
    return rc;
}
