/* The connection to one rank: a DEALER socket, and the window of frames that the rank has not acknowledged yet. These
 * are kept to be sent again. docs/protocol.md describes the exchange. */
#ifndef TASKS_MEMBER_LINK_H
#define TASKS_MEMBER_LINK_H
#include "common/error.h"
#include "tasks/member/discovery.h"
#include "tasks/member/environment.h"
#include "tasks/member/known.h"
#include "tasks/member/sendbuf.h"
#include "tasks/member/slots.h"
#include "tasks/proto/frame.h"

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
    size_t window_bytes; /* unacknowledged bytes that are allowed; two frames are always allowed */
    size_t window_frames;
    size_t backlog; /* frames that link_adopt() will take over */
    struct sendbuf_pool *pool;
    struct slots *slots; /* offered to a rank on this host; NULL if there are none */
    struct known *known; /* gets what the rank has of earlier attempts; NULL for the first one */
    uint64_t *sent;      /* number of sample frames that the stream has sent, over all of its links */
};

/* Connects and sends HELLO. If the rank has several endpoints they are tried in turn until one answers. NULL on
 * failure. */
struct link *link_create(const struct link_config *config, struct error *err);

/* Closes the link, without sending anything more. NULL is allowed. */
void link_destroy(struct link *link);

/* A frame that is not acknowledged, and was sent or is held. */
struct unheld {
    struct frame f;
    uint64_t place; /* in the order of all that the stream has sent */
    zmq_msg_t *msg; /* its message, kept by the link, in which it may be alone or among others */
    bool alone;
    const uint8_t *payload; /* if it is not in memory */
};

/* For a stream that goes on to other ranks. link_hang_up() closes the socket; a link that does not hold frames then
 * keeps only the unacknowledged ones. link_unheld() returns how many these are, and writes them to `list`, unless that
 * is NULL.
 *
 * link_adopt() takes such a frame over to another link, from a message whose former socket's context is closed. Adopted
 * frames are the first ones of the link, in the order of their places. They are sent once the rank has answered. */
void link_hang_up(struct link *link);
size_t link_unheld(struct link *link, struct unheld *list);
int link_adopt(struct link *link, struct unheld *frame, struct error *err);

/* Returns whether a frame of `size` bytes, header included, fits into the window now. */
bool link_has_room(const struct link *link, size_t size);

/* Returns whether the rank has answered HELLO, and so reported what it has of earlier attempts. */
bool link_is_welcome(const struct link *link);

/* Counts a sample that is not sent, since the rank has it. */
void link_skip(struct link *link);

/* Returns whether the rank reads payloads in the slots. */
bool link_shares(const struct link *link);

/* Sends one SAMPLE frame, after those that are held: writes its header, with the next sequence number, into the first
 * bytes of *msg, and takes over the message. */
int link_send(struct link *link, struct frame *f, zmq_msg_t *msg, struct error *err);

/* Small frames gather in one message while others are on their way. link_place() returns room for the payload of one
 * frame of `size` bytes in all. link_placed() adds the frame with its header. The message is sent when it is full, by
 * link_flush(), or by the second link_look(). NULL if the frame is to be sent alone. Both need link_has_room(). */
void *link_place(struct link *link, size_t size);
int link_placed(struct link *link, struct frame *f, struct error *err);
int link_flush(struct link *link, struct error *err);
int link_look(struct link *link, struct error *err); /* 1 if frames are still held */

bool link_holds(const struct link *link);

/* Returns whether a frame of that size would join others that are held, and has room: then link_service() need not be
 * called. */
bool link_gathers(const struct link *link, size_t size);

/* Tells the rank that nothing more comes, as soon as everything has been acknowledged. Frames that are held are sent
 * first. */
int link_finalize(struct link *link, struct error *err);

/* Returns the number of the first frame that is not acknowledged, in the order of all that the stream has sent;
 * UINT64_MAX if all are. */
uint64_t link_oldest(const struct link *link);

/* Returns whether everything is acknowledged, and after link_finalize(), whether the rank has noted the end. */
bool link_settled(const struct link *link);

/* Returns the number of steps of this member, of all attempts, that the rank holds; known when the link is settled
 * after link_finalize(). */
uint64_t link_member_held(const struct link *link);

/* Returns the reason why the rank does not regard the member as finished, "" if it does; known at the same time. */
const char *link_complaint(const struct link *link);

/* Handles messages that have come, and timers that are due; never blocks. -1 if the rank refuses this member. */
int link_service(struct link *link, struct error *err);

/* Returns since when, in monotonic ms, an answer of the rank has been due; INT64_MAX if none is. */
int64_t link_unanswered(const struct link *link);

/* For zmq_poll(): the ms until link_service() must be called; -1 if only a message matters. */
int64_t link_timeout(const struct link *link);
void *link_socket(const struct link *link);
#endif
