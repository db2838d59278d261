/* The end of an attempt, and what follows from it for its member. */
#ifndef DAEMON_ENGINE_OUTCOME_H
#define DAEMON_ENGINE_OUTCOME_H
#include "daemon/store/attempt.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct engine;
struct live_job;
struct slot;

#define BACKOFF_MAX_MS 300000

int64_t engine_backoff(int64_t failures); /* ms to wait after so many failures in a row */

enum outcome_how {
    OUTCOME_RAN,
    OUTCOME_KILLED,   /* ATTEMPT_FAILED: somebody else ended it by a signal */
    OUTCOME_UNSTARTED /* it did not start: the member is not charged, and is pending again at once */
};

struct outcome {
    enum attempt_outcome outcome;
    int exit_code, signal;
    char reason[512], host[64];
    int64_t started_ms, ended_ms;
    bool measured; /* cpu_ms and memory_peak are known */
    int64_t cpu_ms, memory_peak;
    bool final;                /* the member is not retried, since it can never run */
    char notice[256];          /* something about it that is no reason of its end; "" for nothing */
    bool late;                 /* ATTEMPT_TIMEOUT: it was started when less than its walltime was left */
    bool recorded;             /* its runner wrote a record, so that `resumed` is known */
    const json_t *resumed;     /* the checkpoint that it started from; NULL if it began afresh */
    const json_t *checkpoints; /* the member's complete checkpoints, newest first; NULL if they are not known */
    bool at_rung;              /* it has reached the rung of its attempt, by the point of this step and value: */
    int64_t rung_step;
    double rung_value;       /* NaN if it is not finite */
    const json_t *artefacts; /* that it left, as its record has them; NULL for none */
    const json_t *ran;       /* what it ran, as its record has it; NULL: not recorded */
    enum outcome_how how;
};

void outcome_apply(struct engine *engine, struct live_job *job, struct slot *slot, const struct outcome *out);

#endif
