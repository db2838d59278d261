/* The attempts whose output is in archives, and its place there (docs/run-directory.md, "Archives"). */
#ifndef DAEMON_STORE_ARCHIVED_H
#define DAEMON_STORE_ARCHIVED_H
#include "daemon/store/store.h"

/* Finds the ensemble of the job that ended first among those that are not archived. Returns 1 if that was before
 * `before_ms`, or if more than `keep` jobs wait (*crowded), 0 if nothing is due, -1 on error. */
int store_archive_due(struct store *store, int64_t before_ms, int64_t keep, int64_t *ensemble, bool *crowded,
                      struct error *err);

struct unarchived {
    int64_t job;
    char job_name[64];
    int64_t index; /* -1: the job has no attempt whose output is kept */
    int64_t number;
    int64_t archive, kind, at; /* 0 if it is not archived, but for the kind */
};

/* Reads the attempts of the `limit` jobs of an ensemble that ended first, job by job. */
int store_archive_each(struct store *store, int64_t ensemble, int64_t before_ms, int limit,
                       int (*each)(void *arg, const struct unarchived *row), void *arg, struct error *err);
/* Reads the attempts of one job, by member index. */
int store_archive_each_of(struct store *store, int64_t job, int (*each)(void *arg, const struct unarchived *row),
                          void *arg, struct error *err);

/* Records where the output of an attempt is; `archive` 0: in files of its own again. */
int store_archive_put(struct store *store, int64_t ensemble, const struct unarchived *row, struct error *err);
/* Records that a job needs no archiving any more. */
int store_archive_job(struct store *store, int64_t job, struct error *err);

/* Returns 1 if the member is final, this is its last attempt, and no follow-up goes on with it; 0 if not; -1. */
int store_archive_is_last(struct store *store, int64_t ensemble, int64_t index, int64_t number, struct error *err);

/* The file that entries of a kind are added to, and its size; the number is 0 if there is none. */
int store_archive_file(struct store *store, int64_t ensemble, int kind, int64_t *number, int64_t *size,
                       struct error *err);
int store_archive_file_put(struct store *store, int64_t ensemble, int kind, int64_t number, int64_t size,
                           struct error *err);

/* The jobs whose originals are being removed: a JSON list. Reading returns 1 with *jobs, to be freed, or 0, or -1. */
int store_archiving_get(struct store *store, int64_t *ensemble, char **jobs, struct error *err);
int store_archiving_put(struct store *store, int64_t ensemble, const char *jobs, struct error *err);
int store_archiving_drop(struct store *store, struct error *err);
#endif
