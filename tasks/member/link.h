/* The way to one rank: a DEALER socket, and the window of frames that the rank has not acknowledged yet, kept so that
 * they can be sent again. docs/protocol.md describes the exchange. */
#ifndef TASKS_MEMBER_LINK_H
#define TASKS_MEMBER_LINK_H
#include "common/error.h"
#include "tasks/member/discovery.h"
#include "tasks/member/environment.h"

#include <stdbool.h>
#include <zmq.h>

struct link;

struct link_config {
    void *zmq;
    const struct rank_address *address; /* outlives the link */
    int rank;
    const struct environment *env; /* outlives the link */
    uint64_t session;
    uint32_t generation;
    size_t window_bytes; /* unacknowledged bytes that are allowed; two frames are in any case */
    size_t window_frames;
};

/* Connects, and says HELLO. Where the rank has several endpoints they are tried in turn until one answers. NULL on failure. */
struct link *link_create(const struct link_config *config, struct error *err);

/* Nothing is sent any more. NULL is taken. */
void link_destroy(struct link *link);

/* Whether a frame of `size` bytes fits into the window now. */
bool link_has_room(const struct link *link, size_t size);

/* Send a SAMPLE frame: writes its header, with the next sequence number, into the first bytes of *msg, and takes over
 * the message. */
int link_send(struct link *link, struct frame *f, zmq_msg_t *msg, struct error *err);

/* Tell the rank that nothing more comes, as soon as all has been acknowledged. */
void link_finalize(struct link *link);

/* All acknowledged, and after link_finalize(), that noted by the rank. */
bool link_settled(const struct link *link);

/* Take in what has come and do what time has made due; never blocks. -1 where the rank refuses this member. */
int link_service(struct link *link, struct error *err);

/* For zmq_poll(): when link_service() must be called at the latest, in ms from now; -1 where only a message matters. */
int64_t link_timeout(const struct link *link);
void *link_socket(const struct link *link);
#endif
