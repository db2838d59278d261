/* Messages on the daemon's control socket: they tell the daemon where to look, and never carry state
 * (docs/run-directory.md). A message counts only with the key of the job that it is about. */
#ifndef TASKS_PROTO_CONTROL_H
#define TASKS_PROTO_CONTROL_H
#include "common/error.h"

#include <stdbool.h>
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

#define CONTROL_KEY_SIZE 33 /* 32 hex digits and NUL */

struct control_message {
    char job[64];               /* a valid name of a job */
    char key[CONTROL_KEY_SIZE]; /* "" where the message has none; it is not verified */
    enum control_what what;
};

#define CONTROL_MESSAGE_MAX 256

/* Writes the frame's text into buf, and returns its length. key "": none. */
size_t control_build(char buf[CONTROL_MESSAGE_MAX], const char *job, const char *key, enum control_what what);

bool control_key_valid(const char *key);

/* Parses a frame; -1 where it is no control message. It may come from anyone: the caller must compare the key. */
int control_parse(const void *data, size_t size, struct control_message *out, struct error *err);

/* A sender that never blocks and never fails: messages may be lost. */
struct control_sender;

/* Makes a sender; endpoint NULL: one that sends nothing; key NULL: none was given. The first message loads libzmq, and
 * makes its context with its threads. */
struct control_sender *control_sender_create(const char *endpoint, const char *job, const char *key);
void control_sender_nudge(struct control_sender *s, enum control_what what);
void control_sender_destroy(struct control_sender *s); /* waits a second at most for messages to leave */

#endif
