/* The way to one rank: a DEALER socket, and the window of frames that the rank has not acknowledged yet, kept so that
 * they can be sent again. docs/protocol.md describes the exchange. */
#ifndef TASKS_MEMBER_LINK_H
#define TASKS_MEMBER_LINK_H
#include "common/error.h"
#include "tasks/member/discovery.h"
#include "tasks/member/environment.h"
#include "tasks/member/sendbuf.h"
#include "tasks/member/slots.h"

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
    struct sendbuf_pool *pool;
    struct slots *slots; /* offered to a rank on this host; NULL where there are none */
    uint64_t *sent; /* frames of samples that the stream has sent, by all of its links */
};

/* Connects, and says HELLO. Where the rank has several endpoints they are tried in turn until one answers. NULL on
 * failure. */
struct link *link_create(const struct link_config *config, struct error *err);

/* Nothing is sent any more. NULL is taken. */
void link_destroy(struct link *link);

/* Whether a frame of `size` bytes, its header's included, fits into the window now. */
bool link_has_room(const struct link *link, size_t size);

/* Whether the rank reads payloads in the slots. */
bool link_shares(const struct link *link);

/* Send a SAMPLE frame alone: writes its header, with the next sequence number, into the first bytes of *msg, and takes
 * over the message. What is held goes first. */
int link_send(struct link *link, struct frame *f, zmq_msg_t *msg, struct error *err);

/* Small frames gather in one message while others are on their way: link_place() gives room for the payload of one,
 * all in all of `size` bytes, which link_placed() then takes with its header. The message goes when it is full, by
 * link_flush(), or by the second link_look(), and so soon. NULL where the frame is to be sent alone. Both need
 * link_has_room(). */
void *link_place(struct link *link, size_t size);
int link_placed(struct link *link, struct frame *f, struct error *err);
int link_flush(struct link *link, struct error *err);
int link_look(struct link *link, struct error *err); /* 1 where something is still held */

bool link_holds(const struct link *link);

/* Whether such a frame goes to others that are held, and there is room: there is no need for link_service() then. */
bool link_gathers(const struct link *link, size_t size);

/* Tell the rank that nothing more comes, as soon as all has been acknowledged. What is held goes first. */
int link_finalize(struct link *link, struct error *err);

/* The place of its first frame that is not acknowledged, in the order of all that the stream has sent; UINT64_MAX where all
 * are. */
uint64_t link_oldest(const struct link *link);

/* All acknowledged, and after link_finalize(), that noted by the rank. */
bool link_settled(const struct link *link);

/* How many steps of this member the rank holds, of all attempts; known once it is settled after link_finalize(). */
uint64_t link_member_held(const struct link *link);

/* Then, too: why the rank does not take the member for finished; "" where it does. */
const char *link_complaint(const struct link *link);

/* Take in what has come and do what time has made due; never blocks. -1 where the rank refuses this member. */
int link_service(struct link *link, struct error *err);

/* For zmq_poll(): when link_service() must be called at the latest, in ms from now; -1 where only a message matters. */
int64_t link_timeout(const struct link *link);
void *link_socket(const struct link *link);
#endif
