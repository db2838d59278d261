/* Messages on the daemon's control socket: they tell the daemon where to look, and never carry state
 * (docs/run-directory.md). */
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

/* Writes the message's text into buf, and returns its length. */
size_t control_build(char buf[CONTROL_MESSAGE_MAX], const char *job, enum control_what what);

/* Parses a message, which may be anything; -1 if it is no control message. */
int control_parse(const void *data, size_t size, struct control_message *out, struct error *err);

/* Sends a message to the socket at `path` (NULL: there is none). It never waits. The message is lost if nobody has the
 * socket, or if its queue stays full over some tries; the daemon then finds the news by itself, only later. */
void control_nudge(const char *path, const char *job, enum control_what what);

#endif
