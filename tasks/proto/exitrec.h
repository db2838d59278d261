/* Exit records: exit.json reports how a task ended, and ended.json that all records of a job are written. */
#ifndef TASKS_PROTO_EXITREC_H
#define TASKS_PROTO_EXITREC_H
#include "common/error.h"
#include "tasks/proto/attempt_end.h"

#include <jansson.h>
#include <stdint.h>

/* Milliseconds that writing the records may take, beyond a task's grace, before a scheduler kills what is left of the
 * job. */
#define EXITREC_TAKE_MS 10000

struct exitrec {
    char job[64];
    char id[64];
    struct attempt_end end;
    int64_t points; /* bytes of its file of points (tasks/proto/points.h); 0: there is none */
};

/* Returns a new reference. */
json_t *exitrec_json(const struct exitrec *rec);

/* Writes the record atomically, with mode 0600; errno is set on failure: EEXIST if there is one, or the daemon has
 * given the task up. */
int exitrec_write(const char *path, const struct exitrec *rec, struct error *err);

/* Reads a parsed object, which must last as long as the pointers borrowed from it. */
int exitrec_parse(const json_t *root, struct exitrec *rec, struct error *err);

/* Reads a file, without checkpoints. errno ENOENT if there is none, EBADMSG if it is no exit record. The caller
 * compares job and id with what it expects: another attempt's record proves nothing. */
int exitrec_read(const char *path, struct exitrec *rec, struct error *err);

struct job_ended {
    double time; /* Unix seconds */
    char reason[256];
};

int job_ended_write(const char *path, const struct job_ended *ended, struct error *err);
int job_ended_read(const char *path, struct job_ended *ended, struct error *err); /* errno as for exitrec_read() */

#endif
