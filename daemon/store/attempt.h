/* Attempts: every execution of a member, kept for good. */
#ifndef DAEMON_STORE_ATTEMPT_H
#define DAEMON_STORE_ATTEMPT_H
#include "daemon/store/store.h"

enum attempt_outcome {
    ATTEMPT_OPEN,
    ATTEMPT_SUCCEEDED,
    ATTEMPT_FAILED,
    ATTEMPT_TIMEOUT,
    ATTEMPT_CANCELLED,
    ATTEMPT_LOST, /* ended through no fault of the program: node failure, killed runner, preemption */
};

struct attempt_row {
    int64_t ensemble, index, number;
    int64_t job;
    char job_name[64]; /* read only */
    enum attempt_outcome outcome;
    int exit_code; /* -1: none */
    int signal;    /* 0: none */
    char reason[512];
    char host[64];
    char resumed[512]; /* the checkpoint that it went on from; "" none */
    int64_t submitted_ms, started_ms, ended_ms; /* 0: not yet */
    bool measured;       /* what follows is known */
    int64_t cpu_ms, memory_peak; /* bytes, of the largest of its processes */
    int64_t released_ms; /* read only; its output was let go; 0: it was not */
};

const char *attempt_outcome_name(enum attempt_outcome outcome); /* NULL for ATTEMPT_OPEN */

int store_attempt_insert(struct store *store, const struct attempt_row *row, struct error *err);
int store_attempt_update(struct store *store, const struct attempt_row *row, struct error *err);
/* 1 found, 0 none, -1. */
int store_attempt_get(struct store *store, int64_t ensemble, int64_t index, int64_t number, struct attempt_row *row, struct error *err);
/* All attempts of a member, by number. */
int store_attempt_each(struct store *store, int64_t ensemble, int64_t index,
                       int (*each)(void *arg, const struct attempt_row *row), void *arg, struct error *err);
/* Members with an index from `from` up to but without `end`, each once, by index: those whose latest attempt was on a host, and those of which an
 * attempt failed for a cause (cause.h). */
int store_attempt_each_on_host(struct store *store, int64_t ensemble, int64_t from, int64_t end, const char *host,
                               int (*each)(void *arg, const int64_t *index), void *arg, struct error *err);
int store_attempt_each_by_cause(struct store *store, int64_t ensemble, int64_t from, int64_t end, const char *cause,
                                int (*each)(void *arg, const int64_t *index), void *arg, struct error *err);
/* The open attempts of a job, by index. */
int store_attempt_each_open(struct store *store, int64_t job, int (*each)(void *arg, const struct attempt_row *row),
                            void *arg, struct error *err);
/* All attempts of a job, by member; at most `limit`, from member `from` on. */
int store_attempt_each_of_job(struct store *store, int64_t job, int64_t from, int limit,
                              int (*each)(void *arg, const struct attempt_row *row), void *arg, struct error *err);
#endif
