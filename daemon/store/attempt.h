/* Attempts: every execution of a member. They are kept for good. */
#ifndef DAEMON_STORE_ATTEMPT_H
#define DAEMON_STORE_ATTEMPT_H
#include "daemon/store/store.h"
#include "tasks/proto/attempt_end.h"

struct attempt_row {
    int64_t ensemble, index, number;
    int64_t job;
    char job_name[64]; /* read only, from the job */
    int64_t submitted_ms;
    struct attempt_end end; /* its host and start are known before it ends; none of its JSON is in the row */
    char resumed[512];      /* the checkpoint that it went on from; "" for none */
    int64_t archive, archive_kind,
        archive_at;      /* read only; where its output is; archive 0: in no archive (archived.h) */
    int64_t points_read; /* bytes of its file of points that were stored when it ended */
    int64_t rung;        /* that it is to reach next; 0: there is none, or members are not stopped early */
    int64_t released_ms; /* read only; when its captured output was given up for removal, 0 if it was not */
};

int store_attempt_insert(struct store *store, const struct attempt_row *row, struct error *err);
/* Writes only the fields of an attempt that has started: `host` and `started_ms`. */
int store_attempt_start(struct store *store, const struct attempt_row *row, struct error *err);
int store_attempt_update(struct store *store, const struct attempt_row *row, struct error *err);
/* Notes the rung that an attempt is to reach next; 0 for none. */
int store_attempt_rung(struct store *store, int64_t ensemble, int64_t index, int64_t number, int64_t rung,
                       struct error *err);
/* Notes a mistake of an attempt that runs; "" for none. */
int store_attempt_notice(struct store *store, int64_t ensemble, int64_t index, int64_t number, const char *notice,
                         struct error *err);
/* Reads one attempt. Returns 1 if there is one, 0 if not, -1 on error. */
int store_attempt_get(struct store *store, int64_t ensemble, int64_t index, int64_t number, struct attempt_row *row,
                      struct error *err);
/* Reads all attempts of a member, by number. */
int store_attempt_each(struct store *store, int64_t ensemble, int64_t index,
                       int (*each)(void *arg, const struct attempt_row *row), void *arg, struct error *err);
/* Reads all attempts of the members from an index up to but without another, by index and number. */
int store_attempt_each_in(struct store *store, int64_t ensemble, int64_t from, int64_t end,
                          int (*each)(void *arg, const struct attempt_row *row), void *arg, struct error *err);
/* These read members with an index from `from` up to but without `end`, each once, by index. The first reads members
 * whose latest attempt was on a host, the second those of which an attempt failed for a cause (cause.h). */
int store_attempt_each_on_host(struct store *store, int64_t ensemble, int64_t from, int64_t end, const char *host,
                               int (*each)(void *arg, const int64_t *index), void *arg, struct error *err);
int store_attempt_each_by_cause(struct store *store, int64_t ensemble, int64_t from, int64_t end, const char *cause,
                                int (*each)(void *arg, const int64_t *index), void *arg, struct error *err);
/* Reads the attempts of a job that have not ended, by member index. */
int store_attempt_each_open(struct store *store, int64_t job, int (*each)(void *arg, const struct attempt_row *row),
                            void *arg, struct error *err);
/* Reads at most `limit` attempts of a job, by member index, from member `from` on. */
int store_attempt_each_of_job(struct store *store, int64_t job, int64_t from, int limit,
                              int (*each)(void *arg, const struct attempt_row *row), void *arg, struct error *err);
#endif
