/* Jobs: submissions to a scheduler. `intent` is written before the scheduler is asked. */
#ifndef DAEMON_STORE_JOB_H
#define DAEMON_STORE_JOB_H
#include "daemon/store/store.h"

enum job_state { JOB_INTENT, JOB_SUBMITTED, JOB_RUNNING, JOB_ENDED };
enum job_kind { JOB_MEMBERS, JOB_TRAINING };

struct job_row {
    int64_t id, ensemble;
    enum job_kind kind;
    char adapter[64];
    char name[64];
    enum job_state state;
    char scheduler_id[64]; /* "" none */
    int64_t size;          /* attempts or ranks in it */
    int64_t submissions;   /* how often the scheduler was asked */
    bool cancel;           /* it is to end */
    char reason[512];
    int64_t created_ms, submitted_ms, started_ms, ended_ms;
};

const char *job_state_name(enum job_state state);

/* Insert; sets row->id and row->name (st-INSTANCE-ID). */
int store_job_insert(struct store *store, struct job_row *row, struct error *err);
int store_job_update(struct store *store, const struct job_row *row, struct error *err);
int store_job_each_live(struct store *store, int (*each)(void *arg, const struct job_row *row), void *arg,
                        struct error *err);
#endif
