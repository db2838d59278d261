#include "tasks/train/peers.h"

#include <stdlib.h>

/* The sessions, in chains by member, so that all sessions of a member are in one chain. */
struct peers {
    struct peer **bucket;
    size_t size; /* a power of two */
    size_t count;
    uint64_t heard; /* the last number that a session got */
};

static size_t bucket_of(const struct peers *peers, uint64_t member)
{
    uint64_t hash = member * 0x9e3779b97f4a7c15u;

    return (hash ^ hash >> 32) & (peers->size - 1);
}

struct peers *peers_create(void)
{
    struct peers *peers = calloc(1, sizeof *peers);

    if (peers == NULL)
        return NULL;
    peers->size = 64;
    peers->bucket = calloc(peers->size, sizeof(struct peer *));
    if (peers->bucket == NULL) {
        free(peers);
        return NULL;
    }
    return peers;
}

static void peer_free(struct peer *peer)
{
    for (struct partial *p = peer->partial, *next; p != NULL; p = next) {
        next = p->next;
        sample_unref(p->sample);
        free(p);
    }
    sample_params_unref(peer->params);
    mapping_close(peer->memory);
    free(peer);
}

void peers_destroy(struct peers *peers)
{
    if (peers == NULL)
        return;
    for (size_t i = 0; i < peers->size; i++)
        for (struct peer *peer = peers->bucket[i], *next; peer != NULL; peer = next) {
            next = peer->next;
            peer_free(peer);
        }
    free(peers->bucket);
    free(peers);
}

void peers_sweep(struct peers *peers)
{
    for (size_t i = 0; i < peers->size; i++)
        for (struct peer *peer = peers->bucket[i]; peer != NULL; peer = peer->next) {
            if (peer->memory == NULL || mapping_has_owner(peer->memory))
                continue;
            if (peer->alone) {
                mapping_close(peer->memory);
                peer->memory = NULL;
            }
            peer->alone = true;
        }
}

struct peer *peers_find(struct peers *peers, uint64_t member, uint64_t session)
{
    struct peer *peer = peers->bucket[bucket_of(peers, member)];

    while (peer != NULL && (peer->member != member || peer->session != session))
        peer = peer->next;
    return peer;
}

void peers_hear(struct peers *peers, struct peer *peer)
{
    peer->heard = ++peers->heard;
}

bool peers_may_add(const struct peers *peers, uint64_t member, uint32_t attempt, struct peer **spare)
{
    int sessions = 0;

    *spare = NULL;
    for (struct peer *peer = peers->bucket[bucket_of(peers, member)]; peer != NULL; peer = peer->next) {
        if (peer->member != member || peer->attempt < attempt)
            continue;
        sessions++;
        if (peer->partials == 0 && (*spare == NULL || peer->heard < (*spare)->heard))
            *spare = peer;
    }
    return sessions < PEERS_SESSIONS_MAX;
}

struct peer *peers_find_older(struct peers *peers, uint64_t member, uint32_t attempt)
{
    struct peer *peer = peers->bucket[bucket_of(peers, member)];

    while (peer != NULL && (peer->member != member || peer->attempt >= attempt))
        peer = peer->next;
    return peer;
}

struct peer *peers_find_later(struct peers *peers, uint64_t member, uint32_t attempt)
{
    struct peer *peer = peers->bucket[bucket_of(peers, member)];

    while (peer != NULL && (peer->member != member || peer->attempt <= attempt))
        peer = peer->next;
    return peer;
}

/* Makes more chains; without memory, the chains just become longer. */
static void peers_grow(struct peers *peers)
{
    struct peers larger = {.size = 2 * peers->size, .count = peers->count};

    larger.bucket = calloc(larger.size, sizeof(struct peer *));
    if (larger.bucket == NULL)
        return;
    for (size_t i = 0; i < peers->size; i++)
        for (struct peer *peer = peers->bucket[i], *next; peer != NULL; peer = next) {
            size_t at = bucket_of(&larger, peer->member);

            next = peer->next;
            peer->next = larger.bucket[at];
            larger.bucket[at] = peer;
        }
    free(peers->bucket);
    *peers = larger;
}

struct peer *peers_add(struct peers *peers, uint64_t member, uint64_t session, uint32_t attempt,
                       struct sample_params *params)
{
    struct peer *peer = calloc(1, sizeof *peer);
    size_t at;

    if (peer == NULL)
        return NULL;
    if (++peers->count > peers->size)
        peers_grow(peers);
    peer->member = member;
    peer->session = session;
    peer->attempt = attempt;
    peer->params = params;
    at = bucket_of(peers, member);
    peer->next = peers->bucket[at];
    peers->bucket[at] = peer;
    return peer;
}

void peers_remove(struct peers *peers, struct peer *peer)
{
    struct peer **at = &peers->bucket[bucket_of(peers, peer->member)];

    while (*at != peer)
        at = &(*at)->next;
    *at = peer->next;
    peers->count--;
    peer_free(peer);
}

struct sample *peer_partial(struct peer *peer, int64_t step)
{
    for (struct partial *p = peer->partial; p != NULL; p = p->next)
        if (p->sample->step == step)
            return p->sample;
    return NULL;
}

int peer_partial_begin(struct peer *peer, struct sample *sample)
{
    struct partial *p = calloc(1, sizeof *p);

    if (p == NULL)
        return -1;
    p->sample = sample;
    p->next = peer->partial;
    peer->partial = p;
    peer->partials++;
    return 0;
}

void peer_partial_end(struct peer *peer, struct sample *sample)
{
    for (struct partial **at = &peer->partial; *at != NULL; at = &(*at)->next)
        if ((*at)->sample == sample) {
            struct partial *p = *at;

            *at = p->next;
            peer->partials--;
            free(p);
            return;
        }
}

void peers_each_partial(struct peers *peers, void (*each)(void *arg, const struct peer *peer, struct sample *sample),
                        void *arg)
{
    for (size_t i = 0; i < peers->size; i++)
        for (struct peer *peer = peers->bucket[i]; peer != NULL; peer = peer->next)
            for (struct partial *p = peer->partial; p != NULL; p = p->next)
                each(arg, peer, p->sample);
}
