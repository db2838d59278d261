/* Messages on the daemon's control socket: they say where to look, and never carry state (docs/run-directory.md). */
#ifndef TASKS_PROTO_CONTROL_H
#define TASKS_PROTO_CONTROL_H
#include "common/error.h"

#include <stddef.h>

enum control_what {
    CONTROL_CLAIM,
    CONTROL_EXIT,
    CONTROL_ENDED,
    CONTROL_STATUS,
    CONTROL_METRICS,
    CONTROL_DONE,
    CONTROL_ENDPOINT,
};

struct control_message {
    char job[64]; /* a valid name of a job */
    enum control_what what;
};

#define CONTROL_MESSAGE_MAX 256

/* The frame's text into buf; its length. */
size_t control_build(char buf[CONTROL_MESSAGE_MAX], const char *job, enum control_what what);

/* From a frame; -1 where it is none of ours. It may come from anyone: at most it makes the daemon look once more. */
int control_parse(const void *data, size_t size, struct control_message *out, struct error *err);

/* A sender that never blocks and never fails: a message that cannot be sent is not needed. */
struct control_sender;

/* endpoint NULL: a sender that sends nothing. libzmq is loaded, and its context with its threads made, by the first nudge. */
struct control_sender *control_sender_create(const char *endpoint, const char *job);
void control_sender_nudge(struct control_sender *s, enum control_what what);
void control_sender_destroy(struct control_sender *s); /* lingers at most a second */

#endif
