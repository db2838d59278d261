/* Jobs: submissions to a scheduler. A row with the state `intent` is committed before the scheduler is asked. */
#ifndef DAEMON_STORE_JOB_H
#define DAEMON_STORE_JOB_H
#include "daemon/store/store.h"

enum job_state { JOB_INTENT, JOB_SUBMITTED, JOB_RUNNING, JOB_ENDED };
enum job_kind { JOB_MEMBERS, JOB_TRAINING, JOB_PILOT };

struct job_row {
    int64_t id, ensemble;
    enum job_kind kind;
    char adapter[64];
    char name[64];
    enum job_state state;
    char scheduler_id[64]; /* "" for none */
    int64_t size;          /* number of attempts or ranks in it */
    int64_t pilot;         /* the job in whose allocation it runs; 0 if it has an allocation of its own */
    int64_t node;          /* the node of the pilot that it runs on */
    int64_t cpus;          /* of a pilot that asks for what others leave of its adapter: for each node; otherwise 0 */
    int64_t submissions;   /* number of times that the scheduler was asked */
    bool cancel;           /* it is to be cancelled */
    char reason[512];
    int64_t created_ms, submitted_ms, started_ms, ended_ms;
};

const char *job_state_name(enum job_state state);

/* Inserts a job; sets row->id and row->name (st-NONCE-ID). The nonce is random: an older copy of the database gives ids
 * a second time, and names must stay unique. */
int store_job_insert(struct store *store, uint32_t nonce, struct job_row *row, struct error *err);
int store_job_update(struct store *store, const struct job_row *row, struct error *err);
int store_job_each_live(struct store *store, int (*each)(void *arg, const struct job_row *row), void *arg,
                        struct error *err);

/* Reads a job by its id. Returns 1 if there is one, 0 if not, -1 on error. */
int store_job_get(struct store *store, int64_t id, struct job_row *row, struct error *err);
/* Returns 0, or -1 if there is no such state. */
int job_state_parse(const char *name, enum job_state *state);
const char *job_kind_name(enum job_kind kind);

/* Reads at most `limit` jobs with an id below `before` (0 for all), newest first, until `each` returns non-zero. It
 * looks at a limited range of ids: *next is where to go on, 0 if there are no more. */
struct job_filter {
    int64_t ensemble;    /* 0 for any */
    const char *adapter; /* NULL for any */
    bool has_state;
    enum job_state state;
};
#define STORE_JOB_STEP 20000
int store_job_each(struct store *store, int64_t before, const struct job_filter *filter, int limit,
                   int (*each)(void *arg, const struct job_row *row), void *arg, int64_t *next, struct error *err);

/* Returns 1 if the scheduler has accepted a job of this kind and at least of this size, of the same ensemble or of the
 * ensemble `before` (0: none). If `ran` is true, it must have run one. Returns 0 if not, -1 on error. */
int store_job_has_precedent(struct store *store, const struct job_row *row, int64_t before, bool ran,
                            struct error *err);

/* Counts the jobs of an adapter in each state but `ended`. */
int store_job_count_live(struct store *store, const char *adapter, int64_t n[JOB_ENDED], struct error *err);
#endif
