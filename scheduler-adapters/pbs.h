/* The parts of the PBS adapter: jobs are submitted by qsub, looked up by qstat (one for all), and ended by qsig and qdel. OpenPBS,
 * PBS Pro and Torque have commands of the same names that differ in what they take and print; which of them is there is found out.
 *
 * A job is known by its whole name, which it bears as the variable STRETTO_RUNNER: -N holds no more than 15 characters in some
 * versions. Ids jump when a server is restarted, and may be used again: no order goes to an id that a listing has not just shown
 * under the job's name. */
#ifndef SCHEDULER_ADAPTERS_PBS_H
#define SCHEDULER_ADAPTERS_PBS_H
#include "scheduler-adapters/adapter.h"
#include "scheduler-adapters/answers.h"
#include "scheduler-adapters/command.h"

#include <uthash.h>

#define PBS_LIST_MAX (256 << 20) /* bytes of a listing, in which everybody's jobs are, with all their variables */
#define PBS_WORDS_MAX 65536      /* bytes of what other commands print */
#define PBS_NAME_VARIABLE "STRETTO_RUNNER"

enum pbs_program { PBS_QSUB, PBS_QSTAT, PBS_QDEL, PBS_QSIG, PBS_QHOLD, PBS_QRLS, PBS_PROGRAMS };
enum pbs_kind { PBS_KIND_UNKNOWN, PBS_KIND_OPENPBS, PBS_KIND_TORQUE };
enum pbs_phase { PBS_WAITS, PBS_RUNS, PBS_OVER };

/* A job of ours as PBS tells of it. */
struct pbs_row {
    char name[64], id[64], host[64], words[160]; /* words: PBS's comment */
    bool foreign;                                /* somebody else's, whatever its name */
    char state;                                  /* its letter */
    int exit_status, runs;
    bool has_exit_status;
    int64_t created, started; /* Unix seconds; 0: not known */
    enum pbs_phase phase;
    size_t place; /* in the listing */
    bool told;    /* an answer is about it */
};

/* Sorted by name; of one name first the one that an answer is about. */
struct pbs_rows {
    enum pbs_kind kind;
    const char *user; /* whose jobs are ours; NULL: not known */
    struct pbs_row *row;
    size_t n, size;
};

struct pbs_look;
struct pbs_order;
struct pbs_overdue;
struct pbs_waiting;

/* Jobs that were submitted in this adapter's life, until some time after they are out of the listing. */
struct pbs_known {
    char name[64], id[64];
    uint64_t since;   /* listings begun before */
    uint64_t gone;    /* loop time at which a listing no longer had it; 0: none yet */
    bool never_began; /* it was taken out of the queue, by us */
    UT_hash_handle hh;
};

struct adapter {
    struct adapter_host host;
    struct answers *answers;
    struct commands *submissions, *questions, *endings; /* endings: one after another */
    const char *program[PBS_PROGRAMS];
    const char *shell; /* of jobs */
    char *user;        /* NULL: not known */
    char **env, **job_env;
    const json_t *extra;
    int64_t timeout_ms, interval_ms;
    struct error no_runner; /* text "": there is one */

    enum pbs_kind kind;
    struct pbs_waiting *waiting_for_kind;
    bool no_history; /* the server says that it keeps none */

    struct pbs_look *waiting, *looking; /* pbs_look.c: who waits for a listing, and for the one under way */
    uint64_t listings;
    struct pbs_known *known;

    struct pbs_order *orders, *taken; /* pbs_end.c: that wait for a look; that one is under way for */
    bool look_is_due;                 /* for orders, on the next turn of the loop */
    struct pbs_overdue *overdue;      /* pbs_overdue.c, with its timer */
    uv_timer_t timer;

    size_t busy; /* answers that are owed */
    bool closing;
    int stopping; /* of its parts that are not closed */
    void (*destroyed)(void *arg);
    void *destroyed_arg;
};

/* pbs.c */
void pbs_run(struct adapter *a, struct commands *commands, enum pbs_program program, const char *const *args, const char *in,
             size_t out_max, command_cb *cb, void *arg); /* args ended by NULL, without the program */
/* -1 with the reason where it did not exit with status 0. */
int pbs_check(const struct command_result *result, const char *program, struct error *err);
void pbs_busy(struct adapter *a); /* an answer is owed */
void pbs_idle(struct adapter *a); /* it has been given: last in whatever gives it */
void pbs_poke(struct adapter *a);

/* pbs_kind.c: go(arg, NULL), now or later, once a->kind is known, or go(arg, err) where it could not be found out. */
typedef void pbs_kind_cb(void *arg, const struct error *err);
void pbs_kind_ready(struct adapter *a, pbs_kind_cb *go, void *arg);

/* pbs_known.c */
void pbs_note_submitted(struct adapter *a, const char *name, const char *id);
struct pbs_known *pbs_known_find(struct adapter *a, const char *name); /* NULL: none */
void pbs_known_update(struct adapter *a, const struct pbs_rows *rows); /* by a listing */
void pbs_known_forget_all(struct adapter *a);

/* pbs_look.c: one listing for all who ask. */
typedef void pbs_look_cb(void *arg, const struct pbs_rows *rows, const struct error *err); /* NULL rows: err */
/* The jobs as they are at some time after this call. OpenPBS leaves out those that are over. */
void pbs_look(struct adapter *a, pbs_look_cb *cb, void *arg);
/* Those of these ids that are over, as far as OpenPBS keeps a history. Never fails: there may be no rows. */
void pbs_look_back(struct adapter *a, const char *const *ids, pbs_look_cb *cb, void *arg);

/* pbs_rows.c */
struct pbs_row *pbs_rows_add(struct pbs_rows *rows, const char *id); /* the last one, until it is whole */
void pbs_row_set(struct pbs_rows *rows, const char *attribute, const char *value); /* of the last one */
void pbs_rows_end(struct pbs_rows *rows);  /* the last one is whole: kept if it is ours */
void pbs_rows_sort(struct pbs_rows *rows);
void pbs_rows_free(struct pbs_rows *rows);
/* The first of that name, *n of them one after another; NULL where there is none. */
struct pbs_row *pbs_rows_find(const struct pbs_rows *rows, const char *name, size_t *n);
void pbs_status(enum pbs_kind kind, const struct pbs_row *row, struct adapter_status *status);

/* pbs_json.c, pbs_xml.c: what qstat prints; -1 where it is not whole. From any thread. The text is changed. */
int pbs_json_parse(struct pbs_rows *rows, char *text, size_t size, struct error *err);
int pbs_xml_parse(struct pbs_rows *rows, char *text, size_t size, struct error *err);
/* Bytes that neither format allows become question marks: they come in others' variables, unescaped. */
void pbs_text_clean(char *text, size_t size);

/* pbs_submit.c, pbs_poll.c, pbs_end.c: the methods. */
void pbs_submit(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg);
void pbs_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);
void pbs_find(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);
void pbs_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg);
void pbs_withdraw(struct adapter *a, const char *name, const char *scheduler_id, adapter_done_cb *cb, void *arg);
void pbs_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg);

/* pbs_overdue.c: a cancelled job is to be deleted if it does not end in time. */
void pbs_note_overdue(struct adapter *a, const char *name, int64_t grace_ms);
void pbs_overdue_init(struct adapter *a);
void pbs_overdue_stop(struct adapter *a); /* nothing is overdue any more */
#endif
