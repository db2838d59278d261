/* The end of an attempt of a member, or of a rank of a training: from the runner that saw it, through the exit record,
 * to the attempt's row. */
#ifndef TASKS_PROTO_ATTEMPT_END_H
#define TASKS_PROTO_ATTEMPT_END_H
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum attempt_outcome {
    ATTEMPT_OPEN,
    ATTEMPT_SUCCEEDED,
    ATTEMPT_FAILED,
    ATTEMPT_TIMEOUT,
    ATTEMPT_CANCELLED,
    ATTEMPT_DIVERGED, /* a metric that it reported was NaN or infinite */
    ATTEMPT_LOST,     /* ended through no fault of the program: node failure, killed runner, preemption */
    ATTEMPT_REACHED,  /* it has reached the step up to which it was to go, a rung below the last one */
};

enum attempt_how {
    ATTEMPT_RAN,
    ATTEMPT_KILLED,   /* ATTEMPT_FAILED: somebody else ended it by a signal (retries.h) */
    ATTEMPT_UNSTARTED /* it did not start: the member is not charged, and is pending again at once */
};

struct attempt_end {
    enum attempt_outcome outcome;
    enum attempt_how how;
    int exit_code;                /* -1 if a signal ended it, or it never started */
    int signal;                   /* 0 if no signal ended it */
    int64_t started_ms, ended_ms; /* Unix time; 0 if not known, equal if a runner never started it */
    bool measured;                /* cpu_ms and memory_peak are known */
    int64_t cpu_ms, memory_peak;  /* memory_peak in bytes, of the largest of its processes */
    bool final;                   /* ATTEMPT_FAILED: another attempt would end in the same way */
    bool late;                    /* ATTEMPT_TIMEOUT: it was started when less than its walltime was left */
    bool recorded;                /* its runner wrote a record, so that `resumed` is known */
    bool at_rung;                 /* it has reported the metric at that step or beyond, first at this point: */
    int64_t rung_step;            /* the point's step */
    double rung_value;            /* NaN if it is not finite */
    char host[64];
    char reason[512]; /* UTF-8; "" if there is nothing to say */
    char notice[256]; /* something about it that is no reason of its end; "" for nothing */
    /* Borrowed from the parsed record, or from the runner's task. */
    const json_t *resumed;     /* the checkpoint that it went on from; NULL if it began afresh */
    const json_t *checkpoints; /* the member's complete checkpoints, newest first; NULL if they are not known */
    const json_t *artefacts;   /* that it left, {path, size, sha256} each; NULL for none */
    const json_t *ran;         /* what it ran (tasks/runner/ran.h); NULL: not recorded */
};

const char *attempt_outcome_name(enum attempt_outcome outcome); /* NULL for ATTEMPT_OPEN */
/* Returns the outcome of this name, or ATTEMPT_OPEN if there is none. */
enum attempt_outcome attempt_outcome_named(const char *name);

#endif
