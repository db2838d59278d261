/* The marks of a member's streams: a hidden file beside its attempt for each stream that it opened. The library makes
 * it, on whatever node the process runs, and the runner reads it when the attempt has ended. Exit status 0 of a program
 * that did not close its stream is no success. */
#ifndef TASKS_PROTO_STREAMS_H
#define TASKS_PROTO_STREAMS_H
#include "common/error.h"

#include <stdint.h>

/* STREAM_PAUSED: the program stopped at a checkpoint that was due, and its next attempt sends what is left. */
enum stream_end { STREAM_OPEN, STREAM_CLOSED, STREAM_PAUSED };

/* Marks a stream that is being opened, in the attempt's directory. 0 or -1. */
int streams_open(const char *dir, uint64_t session, struct error *err);

/* Marks that it has ended so. 0 or -1. */
int streams_end(const char *dir, uint64_t session, enum stream_end end, struct error *err);

struct streams {
    int open, closed, paused; /* how many there are of each */
};

/* Counts the marks in a directory; none if it cannot be read. */
void streams_count(const char *dir, struct streams *out);

/* Removes them. */
void streams_clear(const char *dir);
#endif
