/* The parts of the Slurm adapter: jobs are submitted by sbatch, looked up by squeue (one for all), and by sacct or the job
 * completion log once squeue has forgotten them, and ended by scancel.
 *
 * A job is known by its name. Ids are used again by a slurmctld that lost its state, and wrap: no order goes to an id that
 * a listing has not just shown under the job's name. */
#ifndef SCHEDULER_ADAPTERS_SLURM_H
#define SCHEDULER_ADAPTERS_SLURM_H
#include "scheduler-adapters/adapter.h"
#include "scheduler-adapters/answers.h"
#include "scheduler-adapters/command.h"

#include <uthash.h>

#define SLURM_LIST_MAX (64 << 20) /* bytes of a listing */
#define SLURM_WORDS_MAX 65536     /* bytes of what other commands print */

enum slurm_program { SLURM_SBATCH, SLURM_SQUEUE, SLURM_SCANCEL, SLURM_SCONTROL, SLURM_SACCT, SLURM_SINFO, SLURM_PROGRAMS };

enum slurm_phase { SLURM_WAITS, SLURM_RUNS, SLURM_OVER };

/* A job as Slurm tells of it; the texts are parts of the rows' own. */
struct slurm_row {
    const char *name, *id, *state, *host, *nodes, *reason;
    const char *label; /* the job's name in Slurm: its own, or its array's */
    int64_t submitted, started; /* Unix seconds; 0: not known */
    enum slurm_phase phase;
    size_t place;
    bool told; /* an answer is about it */
};

/* Sorted by name; of one name first the one that an answer is about. */
struct slurm_rows {
    char *text;
    char (*names)[64]; /* of tasks of arrays */
    struct slurm_row *row;
    size_t n;
};

/* A job to be submitted. Its name ends with a number, of which jobs of one shape make an array; else it goes alone. */
struct slurm_submission {
    struct slurm_submission *next;
    char name[64];
    int64_t number;
    size_t digits; /* of the number, at the end of the name and of the directory; 0: it goes alone */
    adapter_submit_cb *cb;
    void *arg;
    struct adapter_job job; /* with what it points to: */
    char *dir, *queue, *account;
    json_t *extra;
};

/* What goes by one sbatch: one job, or several of one shape, in the order of their numbers, as an array named "STEMBASE+", of which
 * task T is the job "STEM(BASE+T)". */
struct slurm_group {
    struct slurm_group *next;
    struct adapter *a;
    struct slurm_submission *first, **last;
    size_t n;
    int64_t base;
    struct slurm_group *rest; /* it goes first, to see whether the rest was refused for its size alone; */
    struct error why;         /* which was for this */
};

struct slurm_look;
struct slurm_order;
struct slurm_overdue;
struct slurm_partition;

/* Jobs that were submitted in this adapter's life, until a listing shows them over or not at all. */
struct slurm_known {
    char name[64], id[64];
    uint64_t since; /* listings begun before */
    UT_hash_handle hh;
};

enum slurm_record { SLURM_RECORD_UNASKED, SLURM_RECORD_NONE, SLURM_RECORD_SACCT, SLURM_RECORD_FILE };

struct adapter {
    struct adapter_host host;
    struct answers *answers;
    struct commands *submissions, *questions;
    const char *program[SLURM_PROGRAMS];
    char **env, **job_env; /* of commands that ask, and of sbatch, which is the job's, too */
    const json_t *extra;
    int64_t timeout_ms, interval_ms;
    struct error no_runner; /* text "": there is one */

    struct slurm_look *waiting, *looking; /* slurm_look.c: who waits for a listing, and for the one under way */
    uint64_t listings;
    struct slurm_known *known;

    enum slurm_record record; /* slurm_site.c: where ended jobs are kept; */
    char *record_file;
    size_t array_max;           /* how many jobs an array may have, and what its last number may be; 0: not known */
    struct error site_unknown;  /* why */
    struct waiting *site_waiting;

    struct slurm_submission *gathered, **last_gathered; /* slurm_gather.c: jobs that wait for others like them */
    size_t array_most;                                  /* how many have gone together of late: sites limit it otherwise, too */
    int64_t gather_ms;
    uint64_t gathered_since, paced; /* loop time: of the first; each sbatch moves it on by gather_ms */
    bool sending;
    uv_timer_t gather_timer;

    uint64_t record_again; /* slurm_past.c: loop time before which no question of it is worth another try */
    bool record_told;      /* that it does not answer stands in the log */

    struct slurm_partition *partitions; /* slurm_time.c: their limits, and until when they hold (loop time) */
    size_t n_partitions;
    uint64_t partitions_until;
    struct waiting *time_waiting;

    struct slurm_order *orders, *taken; /* slurm_end.c: that wait for a look; that one is under way for */
    struct slurm_overdue *overdue;      /* slurm_overdue.c, with its timer */
    uv_timer_t timer;

    size_t busy; /* answers that are owed */
    bool closing;
    int stopping; /* of its parts that are not closed */
    void (*destroyed)(void *arg);
    void *destroyed_arg;
};

/* slurm.c */
void slurm_run(struct adapter *a, struct commands *commands, enum slurm_program program, const char *const *args, size_t out_max,
               command_cb *cb, void *arg); /* args ended by NULL, without the program */
/* -1 with the reason where it did not exit with status 0. */
int slurm_check(const struct command_result *result, const char *program, struct error *err);
void slurm_busy(struct adapter *a);   /* an answer is owed */
void slurm_idle(struct adapter *a);   /* it has been given: last in whatever gives it */
void slurm_poke(struct adapter *a);

/* slurm_look.c: one listing for all who ask. */
typedef void slurm_look_cb(void *arg, const struct slurm_rows *rows, const struct error *err); /* NULL rows: err */
/* The user's jobs as they are at some time after this call. */
void slurm_look(struct adapter *a, slurm_look_cb *cb, void *arg);
void slurm_note_submitted(struct adapter *a, const char *name, const char *id);
const char *slurm_known_id(const struct adapter *a, const char *name); /* NULL: none */
void slurm_forget_all(struct adapter *a);

/* slurm_rows.c: what commands print. */
enum slurm_format { SLURM_ROWS_SQUEUE, SLURM_ROWS_SACCT };
extern const char slurm_squeue_format[], slurm_sacct_format[];
/* Takes the text over. Lines that are not whole or not ours are left out; -1 where the last one is cut. */
int slurm_rows_parse(struct slurm_rows *rows, enum slurm_format format, char *text, struct error *err);
int slurm_rows_parse_record(struct slurm_rows *rows, char *text); /* of JobCompLoc */
void slurm_rows_sort(struct slurm_rows *rows);
void slurm_rows_free(struct slurm_rows *rows);
/* The first of that name, *n of them one after another; NULL where there is none. */
struct slurm_row *slurm_rows_find(const struct slurm_rows *rows, const char *name, size_t *n);
void slurm_status(const struct slurm_row *row, struct adapter_status *status);

/* slurm_past.c: what became of jobs that squeue does not show. */
/* Never fails: what cannot be found out is left out of the rows, and they may be none. `since`: Unix seconds. */
void slurm_past(struct adapter *a, const char *const *ids, size_t n, int64_t since, slurm_look_cb *cb, void *arg);

/* slurm_time.c: go(arg), now or later, once the partitions' limits are known, or cannot be. Then: the minutes to ask for. */
void slurm_time_ready(struct adapter *a, void (*go)(void *arg), void *arg);
int64_t slurm_time_minutes(const struct adapter *a, const struct adapter_job *job);
void slurm_time_fini(struct adapter *a);

/* slurm_site.c: go(arg), now or later, once the site's configuration is known, or cannot be. */
void slurm_site_ready(struct adapter *a, void (*go)(void *arg), void *arg);
struct waiting {
    struct waiting *next;
    void (*go)(void *arg);
    void *arg;
};
/* The first to wait is to ask: true. All are called by the other. */
bool slurm_wait(struct waiting **list, void (*go)(void *arg), void *arg);
void slurm_waited(struct waiting **list);

/* slurm_submit.c: slurm_group_answered() follows. */
void slurm_send(struct slurm_group *group);

/* slurm_gather.c */
void slurm_gather_init(struct adapter *a);
void slurm_gather_stop(struct adapter *a); /* what waits is not submitted */
/* Takes the group over. is_definite: it is sure that nothing of it was accepted. */
void slurm_group_answered(struct slurm_group *group, enum adapter_answer answer, bool is_definite, const char *id,
                          const struct error *err);

/* slurm_gather.c, slurm_poll.c, slurm_end.c: the methods. */
void slurm_submit(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg);
void slurm_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);
void slurm_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg);
void slurm_withdraw(struct adapter *a, const char *name, const char *scheduler_id, adapter_done_cb *cb, void *arg);
void slurm_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg);

/* slurm_overdue.c: a cancelled job is to be killed if it does not end in time. */
void slurm_note_overdue(struct adapter *a, const char *name, int64_t grace_ms);
void slurm_overdue_init(struct adapter *a);
void slurm_overdue_stop(struct adapter *a); /* nothing is overdue any more */
#endif
