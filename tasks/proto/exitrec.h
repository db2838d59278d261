/* Exit records: how a task ended (exit.json), and that all of a job's are written (ended.json). */
#ifndef TASKS_PROTO_EXITREC_H
#define TASKS_PROTO_EXITREC_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* ms that writing them may take, beyond a task's grace, before a scheduler kills what is left of the job. */
#define EXITREC_TAKE_MS 10000

enum exitrec_outcome { EXITREC_SUCCEEDED, EXITREC_FAILED, EXITREC_TIMEOUT, EXITREC_CANCELLED };

struct exitrec {
    char job[64];
    char id[64];
    char host[64];
    double started, ended; /* Unix seconds; equal where the task never started */
    enum exitrec_outcome outcome;
    bool late;     /* EXITREC_TIMEOUT, and it was started when less than its walltime was left */
    int exit_code; /* -1 where a signal ended it, or it never started */
    int signal;    /* 0 where none did */
    char reason[512]; /* UTF-8; "" where there is nothing to say */
    double user_seconds, system_seconds;
    int64_t max_rss; /* bytes */
    /* Of a task that leaves checkpoints; NULL otherwise. Borrowed: from what was parsed, or whoever writes it. */
    const json_t *checkpoints; /* those that are whole, the newest first (tasks/proto/ckptdir.h) */
    const json_t *resumed;     /* the one that it went on from; NULL: it began afresh */
};

const char *exitrec_outcome_name(enum exitrec_outcome outcome);

/* A new reference. */
json_t *exitrec_json(const struct exitrec *rec);

/* Written whole, with mode 0600; errno is set on failure: EEXIST where there is one, or the daemon has given the task up. */
int exitrec_write(const char *path, const struct exitrec *rec, struct error *err);

/* From a parsed object, which lasts as long as what is borrowed from it. */
int exitrec_parse(const json_t *root, struct exitrec *rec, struct error *err);

/* From text that ends in NUL, without the way over JSON: what follows the record. NULL: it is one that has checkpoints, is written
 * in another way, or wrong, which is for exitrec_parse() to tell. What is taken here is what that would take. */
const char *exitrec_scan(const char *text, struct exitrec *rec);

/* errno ENOENT where there is none, EBADMSG where it is no exit record. The caller compares job and id with what it
 * expects: another attempt's record proves nothing. Without checkpoints. */
int exitrec_read(const char *path, struct exitrec *rec, struct error *err);

struct job_ended {
    double time; /* Unix seconds */
    char reason[256];
};

int job_ended_write(const char *path, const struct job_ended *ended, struct error *err);
int job_ended_read(const char *path, struct job_ended *ended, struct error *err); /* errno as exitrec_read() */

#endif
