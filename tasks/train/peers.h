/* The senders to this rank: the sessions of members, how far each has come, and the samples that still lack fields.
 * Used by the receiver thread alone. */
#ifndef TASKS_TRAIN_PEERS_H
#define TASKS_TRAIN_PEERS_H
#include "tasks/train/gaps.h"
#include "tasks/train/mapping.h"
#include "tasks/train/sample.h"

#include <stdbool.h>
#include <stdint.h>

struct peer {
    uint64_t member;
    uint64_t session;
    uint32_t attempt;
    struct sample_params *params;
    struct mapping *memory; /* the memory that it shares, or NULL */
    bool alone;             /* the process that shares it was gone at the last sweep */
    uint64_t last;          /* highest sequence number up to which everything is held safely */
    uint64_t acked;         /* highest that was acknowledged */
    uint64_t heard;         /* when it last sent something, as a number that grows */
    uint64_t limit;         /* scratch of send_acks() */
    bool rewound;           /* REWIND was sent, and the missing frame has not come yet */
    bool ack_due;           /* in the receiver's list of peers to acknowledge */
    uint8_t routing[255];   /* ZeroMQ's name of the connection that it used last */
    uint8_t routing_size;
    struct peer *next;
    struct partial *partial; /* newest first */
    int partials;
    struct gaps gaps;
};

struct partial {
    struct sample *sample;
    struct partial *next;
};

struct peers;

struct peers *peers_create(void); /* NULL if there is no memory */
void peers_destroy(struct peers *peers);

/* NULL if the session is unknown. */
struct peer *peers_find(struct peers *peers, uint64_t member, uint64_t session);

/* Adds a session. The reference to the parameters is taken over; if there is no memory it is not, and the result is
 * NULL. */
struct peer *peers_add(struct peers *peers, uint64_t member, uint64_t session, uint32_t attempt,
                       struct sample_params *params);

/* Returns a session of this member's earlier attempts, or NULL: a later attempt shows that they are gone. */
struct peer *peers_find_older(struct peers *peers, uint64_t member, uint32_t attempt);

/* Returns a session of this member's later attempts, or NULL. */
struct peer *peers_find_later(struct peers *peers, uint64_t member, uint32_t attempt);

void peers_remove(struct peers *peers, struct peer *peer);

/* Notes that the peer has sent something. */
void peers_hear(struct peers *peers, struct peer *peer);

/* A rank remembers so many sessions of a member. */
#define PEERS_SESSIONS_MAX 256

/* Returns whether one more session of that attempt of the member may be added now; sessions of earlier attempts do not
 * count. If not, *spare (unless it is NULL) is a session that may be removed instead: of those that owe no fields of a
 * sample, the one that has been silent for longest. If that one is still there, it makes itself known again and loses
 * no data. */
bool peers_may_add(const struct peers *peers, uint64_t member, uint32_t attempt, struct peer **spare);

/* Called from time to time: releases the memory of processes that were gone at the last call already. All that they had
 * sent by then has come. */
void peers_sweep(struct peers *peers);

/* Returns the sample of that step that is being put together, or NULL. peer_partial_begin() adds one, and
 * peer_partial_end() removes it when it is whole. */
struct sample *peer_partial(struct peer *peer, int64_t step);
int peer_partial_begin(struct peer *peer, struct sample *sample); /* takes over the reference; -1 without memory */
void peer_partial_end(struct peer *peer, struct sample *sample);  /* gives the reference back */

/* Calls `each` for all samples of all peers that are being put together. */
void peers_each_partial(struct peers *peers, void (*each)(void *arg, const struct peer *peer, struct sample *sample),
                        void *arg);
#endif
