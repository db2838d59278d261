/* A file that a user handed in, byte by byte, with a limit on its size and the number of the line. */
#ifndef DAEMON_SPEC_SOURCE_H
#define DAEMON_SPEC_SOURCE_H
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SOURCE_MAX (INT64_C(1) << 30)      /* bytes of the whole file */
#define SOURCE_RECORD_MAX ((size_t)1 << 20) /* bytes of one record */

struct source {
    FILE *in;
    int64_t line; /* of the next byte, from 1 on */
    int64_t left; /* bytes that may still be read */
};

/* A byte-order mark is passed over. `in` is borrowed. */
void source_init(struct source *source, FILE *in);

/* The next byte; EOF at the end, where it cannot be read, and beyond SOURCE_MAX: source_check() tells. */
static inline int source_get(struct source *source)
{
    int c = source->left > 0 ? getc_unlocked(source->in) : EOF;

    source->left--;
    source->line += c == '\n';
    return c;
}

/* Put the last byte back; not a newline. */
void source_unget(struct source *source, int c);

/* After EOF: 0 at the file's true end. Code "spec_parameter_file". */
int source_check(const struct source *source, struct error *err);

/* "line N: …" with code "spec_parameter_file"; returns -1. */
int source_refuse(int64_t line, struct error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#endif
