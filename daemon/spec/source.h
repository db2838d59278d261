/* Reads a file that a user handed in byte by byte, limits its size, and counts its lines. */
#ifndef DAEMON_SPEC_SOURCE_H
#define DAEMON_SPEC_SOURCE_H
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SOURCE_MAX (INT64_C(1) << 30)       /* bytes of the whole file */
#define SOURCE_RECORD_MAX ((size_t)1 << 20) /* bytes of one record */

struct source {
    FILE *in;
    int64_t line; /* number of the line that the next byte is on, from 1 on */
    int64_t left; /* bytes that may still be read */
};

/* Begins to read. A byte-order mark is passed over. `in` is borrowed. */
void source_init(struct source *source, FILE *in);

/* Returns the next byte; EOF at the end, after a failure, and beyond SOURCE_MAX, which source_check() distinguishes. */
static inline int source_get(struct source *source)
{
    int c = source->left > 0 ? getc_unlocked(source->in) : EOF;

    source->left--;
    source->line += c == '\n';
    return c;
}

/* After EOF: returns 0 if it was the end of the file, else -1 with code "spec_parameter_file". */
int source_check(const struct source *source, struct error *err);

/* Fills err with "line N: …", or without a line if it is 0, and code "spec_parameter_file". Returns -1. */
int source_refuse(int64_t line, struct error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#endif
