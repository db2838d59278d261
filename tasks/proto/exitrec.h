/* Exit records: one tells how a task ended (exit.json), and one that all records of a job are written (ended.json). */
#ifndef TASKS_PROTO_EXITREC_H
#define TASKS_PROTO_EXITREC_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The ms that writing the records may take, beyond a task's grace, before a scheduler kills what is left of the job. */
#define EXITREC_TAKE_MS 10000

/* EXITREC_DIVERGED: a metric that it reported was NaN or infinite. EXITREC_REACHED: it has reached the step up to which
 * its attempt was to go, and that is not its last one. */
enum exitrec_outcome {
    EXITREC_SUCCEEDED,
    EXITREC_FAILED,
    EXITREC_TIMEOUT,
    EXITREC_CANCELLED,
    EXITREC_DIVERGED,
    EXITREC_REACHED
};

struct exitrec {
    char job[64];
    char id[64];
    char host[64];
    double started, ended; /* Unix seconds; equal where the task never started */
    enum exitrec_outcome outcome;
    bool late;         /* with EXITREC_TIMEOUT: it was started when less than its walltime was left */
    int exit_code;     /* -1 where a signal ended it, or it never started */
    int signal;        /* 0 where no signal ended it */
    bool killed;       /* with EXITREC_FAILED: somebody else ended it (retries.h) */
    bool final;        /* with EXITREC_FAILED: another attempt would end in the same way */
    int64_t points;    /* bytes of its file of points (tasks/proto/points.h); 0: there is none */
    bool at_rung;      /* it has reported the metric at that step or beyond, first at this point: */
    int64_t rung_step; /* the point's step */
    double rung_value; /* NaN: it was not finite */
    char reason[512];  /* UTF-8; "" where there is nothing to say */
    double user_seconds, system_seconds;
    int64_t max_rss;  /* bytes */
    char notice[256]; /* what was wrong with the metrics that it reported; "" where nothing was */
    /* Set for a task that leaves checkpoints; NULL otherwise. Borrowed from the parsed object, or from the writer. */
    const json_t *checkpoints; /* those that are complete, the newest first (tasks/proto/ckptdir.h) */
    const json_t *resumed;     /* the one that it went on from; NULL: it began afresh */
    const json_t *artefacts;   /* of a task that succeeded, {path, size, sha256} each; NULL: it leaves none. As above */
    const json_t *ran;         /* what it ran (tasks/runner/ran.h); NULL: not recorded. As above */
};

const char *exitrec_outcome_name(enum exitrec_outcome outcome);

/* Returns a new reference. */
json_t *exitrec_json(const struct exitrec *rec);

/* Writes the record atomically, with mode 0600; errno is set on failure: EEXIST where there is one, or the daemon has
 * given the task up. */
int exitrec_write(const char *path, const struct exitrec *rec, struct error *err);

/* Reads a parsed object, which must last as long as the pointers borrowed from it. */
int exitrec_parse(const json_t *root, struct exitrec *rec, struct error *err);

/* Reads a file, without checkpoints. errno ENOENT where there is none, EBADMSG where it is no exit record. The caller
 * compares job and id with what it expects: another attempt's record proves nothing. */
int exitrec_read(const char *path, struct exitrec *rec, struct error *err);

struct job_ended {
    double time; /* Unix seconds */
    char reason[256];
};

int job_ended_write(const char *path, const struct job_ended *ended, struct error *err);
int job_ended_read(const char *path, struct job_ended *ended, struct error *err); /* errno as for exitrec_read() */

#endif
