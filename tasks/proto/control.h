/* Messages on the daemon's control socket: they say where to look, and never carry state (docs/run-directory.md). A
 * message is believed only with the key of the job that it speaks for. */
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
    char job[64]; /* a valid name of a job */
    char key[CONTROL_KEY_SIZE]; /* "" where the message has none; no more than what somebody claims */
    enum control_what what;
};

#define CONTROL_MESSAGE_MAX 256

/* The frame's text into buf; its length. key "": none. */
size_t control_build(char buf[CONTROL_MESSAGE_MAX], const char *job, const char *key, enum control_what what);

bool control_key_valid(const char *key);

/* From a frame; -1 where it is none of ours. It may come from anyone: whoever takes it compares the key. */
int control_parse(const void *data, size_t size, struct control_message *out, struct error *err);

/* A sender that never blocks and never fails: a message that cannot be sent is not needed. */
struct control_sender;

/* endpoint NULL: a sender that sends nothing; key NULL: none was given. The ZeroMQ context with its threads is made by the first nudge. */
struct control_sender *control_sender_create(const char *endpoint, const char *job, const char *key);
void control_sender_nudge(struct control_sender *s, enum control_what what);
void control_sender_destroy(struct control_sender *s); /* lingers at most a second */

#endif
