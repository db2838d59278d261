/* The Slurm adapter's own parts; the others are in batch.h. Jobs are submitted by sbatch, looked up by squeue (one
 * for all), and by sacct or the job completion log once squeue has forgotten them, and ended by scancel. */
#ifndef SCHEDULER_ADAPTERS_SLURM_H
#define SCHEDULER_ADAPTERS_SLURM_H
#include "scheduler-adapters/batch.h"

#define SLURM_LIST_MAX (64 << 20) /* bytes of a listing */

enum slurm_program { SLURM_SBATCH, SLURM_SQUEUE, SLURM_SCANCEL, SLURM_SCONTROL, SLURM_SACCT, SLURM_SINFO };
enum slurm_record { SLURM_RECORD_UNASKED, SLURM_RECORD_NONE, SLURM_RECORD_SACCT, SLURM_RECORD_FILE };

struct slurm_partition;

struct slurm {
    struct adapter batch;

    enum slurm_record record; /* slurm_site.c: where ended jobs are kept */
    char *record_file;
    struct error site_unknown;  /* why */
    struct batch_wait *site_waiting;

    uint64_t record_again; /* slurm_past.c: loop time before which no question of it is worth another try */
    bool record_told;      /* that it does not answer stands in the log */

    struct slurm_partition *partitions; /* slurm_time.c: their limits, and until when they hold (loop time) */
    size_t n_partitions;
    uint64_t partitions_until;
    struct batch_wait *time_waiting;
};

static inline struct slurm *slurm_of(struct adapter *a)
{
    return (struct slurm *)a;
}

/* slurm_rows.c: what commands print. */
enum slurm_format { SLURM_ROWS_SQUEUE, SLURM_ROWS_SACCT }; /* the rows' kind */
extern const char slurm_squeue_format[], slurm_sacct_format[];
/* Lines that are not whole or not ours are left out; -1 where the last one is cut. */
int slurm_parse(struct batch_rows *rows, char *text, size_t size, struct error *err);
void slurm_parse_record(struct batch_rows *rows, const char *log, size_t size); /* of JobCompLoc */
void slurm_status(const struct adapter *a, const struct batch_row *row, struct adapter_status *status);

/* slurm_past.c: what became of jobs that squeue does not show. Never fails: what cannot be found out is left out. */
void slurm_past(struct adapter *a, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb, void *arg);

/* slurm_time.c: go(arg), now or later, once the partitions' limits are known, or cannot be. Then: the minutes to ask
 * for. */
void slurm_time_ready(struct slurm *a, void (*go)(void *arg), void *arg);
int64_t slurm_time_minutes(const struct slurm *a, const struct adapter_job *job);
void slurm_time_fini(struct slurm *a);

/* slurm_site.c: go(arg), now or later, once the site's configuration is known, or cannot be. */
void slurm_site_ready(struct slurm *a, void (*go)(void *arg), void *arg);

/* slurm_submit.c */
void slurm_send(struct batch_group *group);

/* slurm_end.c */
void slurm_withdraw(struct batch_order *order, const struct batch_row *row);
#endif
