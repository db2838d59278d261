/* The settings of a member, from its environment (docs/run-directory.md). */
#ifndef TASKS_MEMBER_ENVIRONMENT_H
#define TASKS_MEMBER_ENVIRONMENT_H
#include "common/error.h"
#include "tasks/proto/fields.h"

#include <stdbool.h>
#include <stdint.h>

struct environment {
    bool active;     /* STRETTO_STREAM is set; otherwise only the deadline is set */
    double deadline; /* Unix time, 0 for none */
    char *stream;
    char *marks; /* STRETTO_STREAM_MARKS: the directory for marks of streams (tasks/proto/streams.h), or NULL */
    uint64_t key;
    uint64_t ensemble;
    uint64_t member;
    uint32_t attempt;
    struct field_set fields;
    json_t *parameters;
    uint64_t steps; /* STRETTO_STEPS: the steps that each member of the ensemble sends; 0: not known */
    bool checksum;  /* STRETTO_STREAM_CHECKSUM=1: every payload gets a checksum */
    int64_t
        silence_max; /* ms: that time at most, since it grows while nobody answers; half of STRETTO_FAILURE_AFTER_MS */
    int64_t silence; /* ms after which a rank that does not answer gets another HELLO; STRETTO_STREAM_SILENCE_MS */
};

/* Fails if STRETTO_STREAM is set and something that the stream needs is missing or wrong. The caller frees `env` by
 * environment_fini(). */
int environment_read(struct environment *env, struct error *err);
void environment_fini(struct environment *env);

/* Returns the milliseconds until the deadline, at least 0; INT64_MAX without a deadline. */
int64_t environment_left_ms(const struct environment *env);
#endif
