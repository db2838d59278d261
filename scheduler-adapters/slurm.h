/* The Slurm adapter's own parts; the others are in batch.h. Jobs are submitted by sbatch, looked up by squeue (one
 * for all), and by sacct or the job completion log once squeue has forgotten them, and ended by scancel. */
#ifndef SCHEDULER_ADAPTERS_SLURM_H
#define SCHEDULER_ADAPTERS_SLURM_H
#include "scheduler-adapters/batch.h"

#define SLURM_LIST_MAX (64 << 20) /* bytes of a listing */

enum slurm_program { SLURM_SBATCH, SLURM_SQUEUE, SLURM_SCANCEL, SLURM_SCONTROL, SLURM_SACCT, SLURM_SINFO };
enum slurm_record { SLURM_RECORD_UNASKED, SLURM_RECORD_NONE, SLURM_RECORD_SACCT, SLURM_RECORD_FILE };

struct slurm_partition;

/* slurm_time.c: the partitions' limits, and until when they hold (loop time); all zeros: none are known. */
struct slurm_times {
    struct slurm_partition *partitions;
    size_t n;
    uint64_t until;
};

/* slurm_past.c: of the record of ended jobs. */
struct slurm_silence {
    uint64_t until; /* loop time before which no question of it is worth another try */
    bool told;      /* that it does not answer stands in the log */
};

struct slurm {
    struct adapter batch;

    enum slurm_record record; /* slurm_site.c: where ended jobs are kept */
    char *record_file;
    struct error site_unknown;  /* why */
    struct batch_wait *site_waiting;

    struct slurm_silence silence;

    struct slurm_times times;
    struct batch_wait *time_waiting;
};

static inline struct slurm *slurm_of(struct adapter *a)
{
    return (struct slurm *)a;
}

extern const char *const slurm_environment[]; /* variables of the daemon's that commands and jobs see, ended by NULL */

/* slurm_rows.c: what commands print. */
enum slurm_format { SLURM_ROWS_SQUEUE, SLURM_ROWS_SACCT }; /* the rows' kind */
extern const char slurm_squeue_format[], slurm_sacct_format[];
/* Lines that are not whole or not ours are left out; -1 where the last one is cut. */
int slurm_parse(struct batch_rows *rows, char *text, size_t size, struct error *err);
void slurm_parse_record(struct batch_rows *rows, const char *log, size_t size); /* of JobCompLoc */
/* The fields of a row that follow from its state, which is set. */
void slurm_row_set_state(struct batch_row *row);
const char *slurm_word_or_nothing(const char *word); /* "" for "None" and the like */
void slurm_status(const struct adapter *a, const struct batch_row *row, struct adapter_status *status);

/* slurm_past.c: what became of jobs that squeue does not show. Never fails: what cannot be found out is left out. */
void slurm_past(struct adapter *a, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb, void *arg);
#define SLURM_PAST_MS 10000 /* of a question: where the database hangs it would take a minute, and a poll with it */
/* As many of them as go into one question, with this between them; to be freed. */
char *slurm_past_ids(const char *const *ids, size_t n, const char *between);
int64_t slurm_past_from(int64_t since); /* Unix seconds: earlier jobs are not asked for */
void slurm_past_answered(struct slurm_silence *silence);
void slurm_past_unanswered(struct adapter *a, struct slurm_silence *silence, const char *why); /* the first of several in a row is told */

/* slurm_time.c: go(arg), now or later, once the partitions' limits are known, or cannot be. */
void slurm_time_ready(struct slurm *a, void (*go)(void *arg), void *arg);
void slurm_times_add(struct slurm_times *times, const char *name, bool is_default, int64_t minutes); /* INT64_MAX: no limit */
void slurm_times_clear(struct slurm_times *times);
bool slurm_times_hold(struct slurm_times *times, uint64_t now); /* else they are to be asked for again */
void slurm_times_set(struct slurm_times *times, uint64_t now);  /* they have been */
/* The minutes to ask for. `extra`: options before the job's own. */
int64_t slurm_times_minutes(const struct slurm_times *times, const json_t *extra, const struct adapter_job *job);

/* slurm_site.c: go(arg), now or later, once the site's configuration is known, or cannot be. */
void slurm_site_ready(struct slurm *a, void (*go)(void *arg), void *arg);

/* slurm_submit.c */
void slurm_send(struct batch_group *group);
/* What a job's script does, or that of each of an array: it becomes the runner. minutes: its limit; 0: none was asked for. To be freed,
 * like: */
char *slurm_script(const struct batch_group *group, int64_t minutes);
char *slurm_log_pattern(const struct batch_group *group); /* where its output goes */
char *slurm_workdir(const struct batch_group *group);
void slurm_task_id(const char *id, int64_t task, char *out, size_t size); /* "12_3" */
/* What is said where it is not Slurm's last word. */
bool slurm_is_for_now(const char *said);
int64_t slurm_tasks(const struct adapter_resources *want); /* in all */

/* slurm_end.c */
extern const char *const slurm_gone[];
void slurm_waits(struct adapter *a, const struct batch_row *row);
void slurm_withdraw(struct batch_order *order, const struct batch_row *row);
#endif
