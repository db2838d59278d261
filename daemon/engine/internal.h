/* The engine's memory: a cache of what is under way, rebuilt from the store at any time. Shared by its files only. */
#ifndef DAEMON_ENGINE_INTERNAL_H
#define DAEMON_ENGINE_INTERNAL_H
#include "daemon/engine/engine.h"
#include "daemon/store/attempt.h"
#include "daemon/store/event.h"
#include "daemon/store/job.h"
#include "daemon/store/training.h"

#include <uthash.h>

#define POLL_MS 5000           /* between polls of an adapter that does not poke */
#define POLL_BACKOFF_MAX 60000 /* between polls of an adapter that does not answer */
#define TRAINING_POLL_MS 1000  /* between looks at the ranks' files where no message says there is news */
#define FILE_RETRY_MS 5000     /* after a failed write to the run directory */
#define COLLECT_TRIES 5        /* looks for a missing exit record before it is taken for lost */
#define COLLECT_FIRST_MS 200   /* before the second look, then doubled */
#define SUBMISSIONS_MAX 5      /* of one job, in one life of ours, that its scheduler keeps forgetting before it starts */
#define LOSSES_MAX 10          /* attempts lost in a row before the member is given up */
#define BACKOFF_FIRST_MS 1000  /* before the first retry, then doubled */
#define BACKOFF_MAX_MS 300000
#define REST_FIRST_MS 250 /* between a failed commit and the next try, then doubled */
#define REST_MAX_MS 10000
#define DISPATCH_MAX 256 /* attempts made in one go, so that a loop turn stays short */

struct known_adapter {
    const struct adapter_ops *ops;
    struct adapter *adapter;
    bool polling;
    int64_t poll_at;
    int failures; /* polls in a row without an answer */
    int64_t answered_at, failing_since; /* 0: never, or not now */
    char failing_for[256];
    UT_hash_handle hh; /* by ops->name */
};

struct training {
    struct training_row row;
    struct live_job *job;  /* NULL when none is under way */
    bool reading;          /* the ranks' files are being read */
    bool again;            /* and must be read once more */
    bool job_over;         /* conclude after a last reading */
    bool ranks_succeeded;  /* every rank's exit record says so */
    char failure[512];     /* why not */
    int64_t look_at;
    bool reception_written, reception_writing;
    int64_t reception_retry_at;
};

struct live_ensemble {
    struct ensemble_row row;
    struct spec *spec;
    struct training *training; /* NULL where the spec has none */
    int64_t in_flight;         /* open attempts */
    int64_t due;               /* when a pending row may go */
    bool dirty;                /* on the list below */
    struct live_ensemble *next_dirty;
    UT_hash_handle hh; /* by row.id */
};

/* An attempt of a member, or a rank (index: the rank, number: the generation). */
struct slot {
    int64_t index, number;
    bool open;
};

enum job_business { BUSINESS_NONE, BUSINESS_WRITING, BUSINESS_SUBMITTING, BUSINESS_COLLECTING };

struct live_job {
    struct job_row row;
    struct live_ensemble *ensemble;
    struct known_adapter *adapter;
    struct slot *slots;
    size_t n_slots, open;
    enum job_business business; /* what is under way; nothing else is begun meanwhile */
    bool written;               /* its files are on disk */
    bool look;                  /* its files may tell something new */
    bool asked;                 /* the scheduler has been asked whether it knows the job (after a restart) */
    bool gone;                  /* the scheduler says it ended, or does not know it */
    bool unknown;               /* … the latter */
    bool brief;                 /* the collection under way leaves claim and ended out */
    bool whole;                 /* a brief one did not find every exit record */
    bool cancel_sent;
    char gone_reason[256];
    bool started; /* its tasks are marked as running */
    int collect_tries;
    int forgotten; /* by its scheduler, before it started; not in the row: a queue that is memory goes with a daemon */
    int64_t retry_at; /* INT64_MAX: nothing to do by the clock */
    UT_hash_handle hh; /* by row.id */
};

struct engine {
    struct engine_ports ports;
    struct store *store;
    struct turn *turn;
    uint64_t epoch; /* grows with every load: answers to questions of an earlier one are ignored */
    struct known_adapter *adapters;
    struct live_ensemble *ensembles;
    struct live_job *jobs;
    struct live_ensemble *dirty;
    int64_t wake_at;
    bool resting; /* memory is to be loaded again */
    int64_t rest_ms, rested_at;
};

/* What an asynchronous question remembers; never a pointer into the engine's memory. */
struct ticket {
    struct engine *engine;
    uint64_t epoch;
    int64_t id;
};

/* engine.c */
struct ticket *ticket_new(struct engine *engine, int64_t id);
/* The engine, or NULL where its memory has been rebuilt since; frees the ticket, *id is what it was made for. */
struct engine *ticket_redeem(void *ticket, int64_t *id);
int64_t engine_now(const struct engine *engine);
void engine_wake_by(struct engine *engine, int64_t when_ms);
void engine_touch(struct engine *engine, struct live_ensemble *ens); /* look at it before this entry returns */
void engine_settle(struct engine *engine);                           /* look at all that were touched */
void engine_event(struct engine *engine, const char *kind, int64_t ensemble, int64_t index, json_t *detail);
struct live_job *engine_find_job(struct engine *engine, int64_t id);
struct live_ensemble *engine_find_ensemble(struct engine *engine, int64_t id);
/* The ensemble that a call from outside is to change: 0, or -1 with "ensemble_not_found" or "ensemble_over". */
int engine_open_ensemble(struct engine *engine, int64_t id, struct live_ensemble **ens, struct error *err);
/* Its row, whether it is live or not: 0, or -1 with "ensemble_not_found". */
int engine_stored_ensemble(struct engine *engine, int64_t id, struct ensemble_row *row, struct error *err);
/* Whether its adapter is here: 0, or -1 with "adapter_not_here". An ensemble of a plugin that is not loaded is left alone
 * until it is. */
int engine_check_adapter(const struct engine *engine, const struct ensemble_row *row, struct error *err);
/* End the whole ensemble as cancelled, with a reason ("" none). */
void engine_end_ensemble(struct engine *engine, struct live_ensemble *ens, const char *reason);
void engine_drop_ensemble(struct engine *engine, struct live_ensemble *ens);

/* Load memory if the engine rests: nobody may change what is not there. */
int engine_wake_up(struct engine *engine, struct error *err);

/* rows.c: copies of parameter files; *rows is NULL where the ensemble has none */
int engine_store_rows(struct engine *engine, int64_t ensemble, const struct rows *rows, struct error *err);
int engine_open_rows(struct engine *engine, int64_t ensemble, struct rows **rows, struct error *err);

/* load.c */
void engine_forget(struct engine *engine); /* free all of its memory */
struct live_ensemble *engine_adopt_ensemble(struct engine *engine, const struct ensemble_row *row, struct spec *spec);

/* dispatch.c */
void dispatch_ensemble(struct engine *engine, struct live_ensemble *ens);
bool dispatch_all_final(const int64_t tally[MEMBER_STATE_COUNT]);

/* plan.c: what is written to disk before a job is submitted */
struct job_plan {
    char **dirs;
    size_t n_dirs;
    struct rundir_file *files;
    size_t n_files;
    bool failed; /* a member's parameters cannot be read: to be dropped */
};
void plan_drop(struct job_plan *plan);
void plan_job(const struct engine *engine, const struct live_job *job, struct job_plan *plan);
char *plan_job_dir(const struct engine *engine, const struct live_job *job);
void plan_adapter_job(const struct live_job *job, char *dir, struct adapter_job *out);

/* job.c, collect.c */
struct live_job *job_new(struct engine *engine, struct live_ensemble *ens, const struct job_row *row);
void job_destroy(struct engine *engine, struct live_job *job);
void job_start_committed(struct engine *engine, struct live_job *job); /* once this turn, its intent in it, is on disk */
void job_start(struct engine *engine, struct live_job *job);
void job_cancel(struct engine *engine, struct live_job *job);
void job_advance(struct engine *engine, struct live_job *job);
void job_mark_running(struct engine *engine, struct live_job *job, int64_t started_ms, const char *host);
void job_end(struct engine *engine, struct live_job *job, const char *reason);
void job_collect(struct engine *engine, struct live_job *job);
void job_fail_open(struct engine *engine, struct live_job *job, enum attempt_outcome outcome, const char *reason);

/* poll.c */
void poll_adapter(struct engine *engine, struct known_adapter *adapter);
void poll_find(struct engine *engine, struct known_adapter *adapter);

/* outcome.c */
struct outcome {
    enum attempt_outcome outcome;
    int exit_code, signal;
    char reason[512], host[64];
    int64_t started_ms, ended_ms;
    bool final; /* no retry: it can never run */
};
void outcome_apply(struct engine *engine, struct live_job *job, struct slot *slot, const struct outcome *out);

/* training.c */
void training_start(struct engine *engine, struct live_ensemble *ens);
void training_look(struct engine *engine, struct live_ensemble *ens);
void training_rank_ended(struct engine *engine, struct live_job *job, struct slot *slot, const struct outcome *out);
void training_job_over(struct engine *engine, struct live_ensemble *ens);
void training_members_over(struct engine *engine, struct live_ensemble *ens);

#endif
