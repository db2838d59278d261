/* Trainings, their ranks, and their metric points. */
#ifndef DAEMON_STORE_TRAINING_H
#define DAEMON_STORE_TRAINING_H
#include "daemon/store/store.h"
#include "tasks/proto/retries.h"

enum training_state {
    TRAINING_PENDING,
    TRAINING_SUBMITTED,
    TRAINING_RUNNING, /* every rank can be reached */
    TRAINING_DONE,
    TRAINING_FAILED,
    TRAINING_CANCELLED
};

/* The checkpoint that the current generation goes on from. */
struct training_resumed {
    char name[64]; /* "" if the generation began at the start */
    int64_t step, batches, drawn;
};

struct training_row {
    int64_t id, ensemble;
    enum training_state state;
    char adapter[64], reason[512];
    int64_t ranks, generation;
    int64_t keeps;         /* samples that ranks of this generation or a later one have acknowledged are not lost */
    int64_t wanted;        /* the number of ranks that the next generation is to have; 0 for the same */
    char wanted_by[256];   /* who asked for it, as a phrase such as "by token 3 (cron)" */
    int64_t restarts;      /* how often the ranks of this generation have begun again where they were */
    int64_t failures;      /* ends of the ranks that cost a retry */
    int64_t losses;        /* ends in a row from outside, since they last got further (tasks/proto/retries.h) */
    int64_t not_before_ms; /* when it may be submitted again at the earliest */
    struct training_resumed resumed;
    int64_t created_ms, started_ms;
    int64_t ended_ms;  /* for a training that is pending again, the end of its last generation */
    bool early;        /* it is done, and has said that it needs no more samples, before it had all */
    char missing[512]; /* the steps that never came, as daemon/rundir/missing.h has them; "" if they were not counted */
};

/* Returns whether it has, or has had, a job, and is not over. */
static inline bool training_is_under_way(const struct training_row *row)
{
    return row->state == TRAINING_SUBMITTED || row->state == TRAINING_RUNNING;
}

/* Returns whether it is over, unless somebody resubmits it. */
static inline bool training_is_over(const struct training_row *row)
{
    return row->state >= TRAINING_DONE;
}

/* Returns how far the current generation was when it began. */
static inline struct learnt training_began_with(const struct training_row *row)
{
    const struct training_resumed *from = &row->resumed;

    return from->name[0] != '\0' ? (struct learnt){from->step, from->batches, from->drawn} : LEARNT_NOTHING;
}

/* The progress of a rank, in this order. */
enum rank_state {
    RANK_STARTING,
    RANK_READY,      /* it can be reached */
    RANK_UNFINISHED, /* it has ended because its time was nearly over */
    RANK_DONE
};

/* Counters of one rank, or their sums over the ranks of a training's generation. */
struct rank_row {
    int64_t training, generation, rank;
    enum rank_state state; /* in sums: of the rank that is the least far */
    int64_t received, unique, duplicates, drawn, batches, repeats;
    int64_t skipped; /* samples that members which ran again did not send, since it held them */
    double samples_per_second;
    int64_t metrics_offset;
};

const char *training_state_name(enum training_state state);

int store_training_insert(struct store *store, struct training_row *row, struct error *err); /* sets id */
int store_training_update(struct store *store, const struct training_row *row, struct error *err);
int store_training_get(struct store *store, int64_t id, struct training_row *row, struct error *err);
int store_training_of(struct store *store, int64_t ensemble, struct training_row *row, struct error *err);

/* Returns the id of the job of the generation that it `keeps`, even if that has ended; INT64_MAX if none was made
 * for it. */
int store_training_job(struct store *store, const struct training_row *row, int64_t *id, struct error *err);

/* Counts the jobs that it has had: one for each generation, except one that was cancelled before it was submitted. */
int store_training_jobs(struct store *store, const struct training_row *row, int64_t *n, struct error *err);

int store_rank_put(struct store *store, const struct rank_row *row, struct error *err);
int store_rank_get(struct store *store, int64_t training, int64_t generation, int64_t rank, struct rank_row *row,
                   struct error *err);
/* Sums over the ranks of the training's current generation. A rank without a row is starting. */
int store_rank_sum(struct store *store, const struct training_row *training, struct rank_row *sum, struct error *err);

struct metric_point {
    int64_t step, time_ms, rank;
    double value; /* NaN and infinities are values, too */
};

/* Stores a point. It replaces one with the same name, step and rank, so that reading a file twice changes nothing. */
int store_metric_put(struct store *store, int64_t training, const char *name, const struct metric_point *point,
                     struct error *err);
/* Reads names in alphabetical order, from `from` on ("" for all). The cost depends on the number of names, not of
 * points. */
int store_metric_each_name(struct store *store, int64_t training, const char *from,
                           int (*each)(void *arg, const char *name), void *arg, struct error *err);
/* Finds the first and the last step from `from` to `to`, inclusive, that have a point. Returns 1, 0 if there is none,
 * -1. */
int store_metric_bounds(struct store *store, int64_t training, const char *name, int64_t from, int64_t to,
                        int64_t *first, int64_t *last, struct error *err);
/* Reads at most `limit` points by step and rank: those after this step and rank, up to the step `to`. */
int store_metric_each(struct store *store, int64_t training, const char *name, int64_t step, int64_t rank, int64_t to,
                      int64_t limit, int (*each)(void *arg, const struct metric_point *point), void *arg,
                      struct error *err);

/* The figures of a series, which are known without reading its points. */
struct metric_figures {
    double last;     /* the value of the last point; NaN and infinities are values, too */
    double min, max; /* of the finite values; NaN if there is none */
};

/* Reads each name with the figures of its series. The cost depends on the number of names, not of points. */
int store_metric_each_series(struct store *store, int64_t training,
                             int (*each)(void *arg, const char *name, const struct metric_figures *figures), void *arg,
                             struct error *err);
#endif
