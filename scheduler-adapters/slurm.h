/* The parts of the Slurm adapter; its common parts are in batch.h. Jobs are submitted by sbatch, looked up by squeue
 * (one for all), and by sacct or the job completion log once squeue has forgotten them, and ended by scancel. */
#ifndef SCHEDULER_ADAPTERS_SLURM_H
#define SCHEDULER_ADAPTERS_SLURM_H
#include "scheduler-adapters/batch.h"

#define SLURM_LIST_MAX (64 << 20) /* bytes of a listing */

enum slurm_program { SLURM_SBATCH, SLURM_SQUEUE, SLURM_SCANCEL, SLURM_SCONTROL, SLURM_SACCT, SLURM_SINFO };
enum slurm_record { SLURM_RECORD_UNASKED, SLURM_RECORD_NONE, SLURM_RECORD_SACCT, SLURM_RECORD_FILE };

struct slurm_partition;

/* slurm_time.c: the partitions' limits, and the loop time until which they are valid; all zeros: no limits are
 * known. */
struct slurm_times {
    struct slurm_partition *partitions;
    size_t n;
    uint64_t until;
};

/* slurm_past.c: the record of ended jobs does not answer. */
struct slurm_silence {
    uint64_t until; /* loop time before which it is not asked again */
    bool told;      /* the log says that it does not answer */
};

struct slurm {
    struct adapter batch;

    enum slurm_record record; /* slurm_site.c: the record of ended jobs */
    char *record_file;
    char cluster[64];          /* its name; "": not known */
    struct error site_unknown; /* why the site's configuration is not known */
    struct batch_wait *site_waiting;

    struct slurm_silence silence;

    struct slurm_times times;
    struct batch_wait *time_waiting;
};

static inline struct slurm *slurm_of(struct adapter *a)
{
    return (struct slurm *)a;
}

extern const char *const slurm_environment[]; /* the daemon's variables that commands and jobs see, ended by NULL */

/* slurm_rows.c: reads the output of commands. */
enum slurm_format { SLURM_ROWS_SQUEUE, SLURM_ROWS_SACCT }; /* the kinds of struct batch_rows */
extern const char slurm_squeue_format[], slurm_sacct_format[];
/* Reads the rows of squeue or sacct. Incomplete lines are left out; -1 says that the last line is cut off. */
int slurm_parse(struct batch_rows *rows, char *text, size_t size, struct error *err);
/* reads a job completion log (JobCompLoc) */
void slurm_parse_record(struct batch_rows *rows, const char *log, size_t size);
/* Sets the fields of a row that follow from its state. */
void slurm_row_set_state(struct batch_row *row);
const char *slurm_word_or_nothing(const char *word); /* "" for "None" and the like */
void slurm_status(const struct adapter *a, const struct batch_row *row, struct adapter_status *status);

/* slurm_past.c: finds out about jobs that squeue does not show. It never fails: jobs that it finds nothing about are
 * left out. */
void slurm_past(struct adapter *a, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb, void *arg);
/* time limit of a question: if the database hangs it would take a minute, and delay a poll as much */
#define SLURM_PAST_MS 10000
/* Joins as many ids as go into one question, with `between` between them; the caller frees the result. */
char *slurm_past_ids(const char *const *ids, size_t n, const char *between);
int64_t slurm_past_from(int64_t since); /* Unix seconds; jobs before that time are not asked for */
void slurm_past_answered(struct slurm_silence *silence);
/* logs the first of several failures in a row */
void slurm_past_unanswered(struct adapter *a, struct slurm_silence *silence, const char *why);

/* slurm_time.c: calls go(arg), now or later, when the partitions' limits are known or could not be found out. */
void slurm_time_ready(struct slurm *a, void (*go)(void *arg), void *arg);
/* INT64_MAX: no limit */
void slurm_times_add(struct slurm_times *times, const char *name, bool is_default, int64_t minutes);
void slurm_times_clear(struct slurm_times *times);
bool slurm_times_hold(struct slurm_times *times, uint64_t now); /* false: they must be asked for again */
void slurm_times_set(struct slurm_times *times, uint64_t now);  /* the limits have been asked for */
/* Returns the minutes to ask for. `extra`: options before the job's own. */
int64_t slurm_times_minutes(const struct slurm_times *times, const json_t *extra, const struct adapter_job *job);

/* slurm_site.c: calls go(arg), now or later, when the site's configuration is known or could not be found out. */
void slurm_site_ready(struct slurm *a, void (*go)(void *arg), void *arg);

/* slurm_submit.c */
void slurm_send(struct batch_group *group);
/* Returns the script of a job, or of each job of an array, which becomes the runner; the caller frees it. `minutes` is
 * its limit; 0: none was asked for. */
char *slurm_script(const struct batch_group *group, int64_t minutes);
char *slurm_log_pattern(const struct batch_group *group); /* the file for its output; to be freed */
char *slurm_workdir(const struct batch_group *group);
void slurm_task_id(const char *id, int64_t task, char *out, size_t size); /* writes "12_3" */
/* Returns whether Slurm's words are about an error that may pass. */
bool slurm_is_for_now(const char *said);
/* Returns ADAPTER_REFUSED if the words refuse a job for good, or ADAPTER_UNCLEAR if that is not known. */
enum adapter_answer slurm_refusal(const char *said);
int64_t slurm_tasks(const struct adapter_resources *want); /* the number of tasks in all */
/* Returns how many tasks a node has at most, so that they are spread evenly; 0 if there is one node. */
int slurm_tasks_per_node(const struct adapter_resources *want);

/* slurm_options.c */
extern const struct option_syntax slurm_options;
/* Refuses names of variables that sbatch takes for options. */
int slurm_check_environment(const json_t *names, struct error *err);

/* slurm_end.c */
extern const char *const slurm_gone[];
void slurm_waits(struct adapter *a, const struct batch_row *row);
void slurm_withdraw(struct batch_order *order, const struct batch_row *row);
#endif
