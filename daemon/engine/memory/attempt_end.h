/* How an attempt of a member, or a rank of a training, has ended. */
#ifndef DAEMON_ENGINE_MEMORY_ATTEMPT_END_H
#define DAEMON_ENGINE_MEMORY_ATTEMPT_END_H
#include "daemon/store/attempt.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum attempt_how {
    ATTEMPT_RAN,
    ATTEMPT_KILLED,   /* ATTEMPT_FAILED: somebody else ended it by a signal */
    ATTEMPT_UNSTARTED /* it did not start: the member is not charged, and is pending again at once */
};

struct attempt_end {
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
    enum attempt_how how;
};

#endif
