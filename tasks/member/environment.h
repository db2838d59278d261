/* What a member is told by its environment (docs/run-directory.md). */
#ifndef TASKS_MEMBER_ENVIRONMENT_H
#define TASKS_MEMBER_ENVIRONMENT_H
#include "common/error.h"
#include "tasks/proto/fields.h"

#include <stdbool.h>
#include <stdint.h>

struct environment {
    bool active;     /* STRETTO_STREAM is set: nothing below is, otherwise, but the deadline */
    double deadline; /* Unix time, 0 for none */
    char *stream;
    uint64_t key;
    uint64_t ensemble;
    uint64_t member;
    uint32_t attempt;
    struct field_set fields;
    json_t *parameters;
    uint64_t steps;  /* STRETTO_STEPS: that each member of the ensemble sends; 0: nobody has said */
    bool checksum;    /* STRETTO_STREAM_CHECKSUM=1: a checksum of every payload */
    int64_t silence;  /* ms after which an unanswered rank is spoken to again; STRETTO_STREAM_SILENCE_MS */
};

/* Fails where the stream is set and something it needs is missing or wrong. The caller's, for environment_fini(). */
int environment_read(struct environment *env, struct error *err);
void environment_fini(struct environment *env);

/* Milliseconds until the deadline, at least 0; INT64_MAX without one. */
int64_t environment_left_ms(const struct environment *env);
#endif
