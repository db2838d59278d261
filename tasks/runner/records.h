/* Exit records on their way to the disk. A full disk or a server that does not answer is waited for, with back-off: the
 * record of hours of computing must not be lost to a quota. */
#ifndef TASKS_RUNNER_RECORDS_H
#define TASKS_RUNNER_RECORDS_H
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

struct records;

/* written(arg) is called after each record that was written; clock() gives monotonic milliseconds. */
struct records *records_create(int64_t (*clock)(void), void (*written)(void *arg), void *arg);
void records_destroy(struct records *r);

/* Writes a record by write(path, what), again and again until that succeeds; `what` is borrowed until then, path is
 * copied. */
void records_add(struct records *r, const char *path, int (*write)(const char *path, const void *what, struct error *),
                 const void *what);

/* Writes the records that are due. Gives up those that could not be written until `give_up` (monotonic ms), or at once
 * if waiting does not help; but never before 10 s of trying. */
void records_work(struct records *r, int64_t give_up);

bool records_pending(const struct records *r);
int64_t records_due(const struct records *r); /* monotonic ms of the next try; INT64_MAX if nothing is pending */
int64_t records_failing_since(const struct records *r); /* monotonic ms; 0: the last write succeeded */
bool records_lost(const struct records *r);             /* says whether a record was given up */

#endif
