/* What adapters share that drive a batch system by its commands (pbs, slurm), or by requests that do the same (slurmrestd): such an
 * adapter fills in a struct batch_system, and keeps to itself only what is its own: what to ask for, how to read what it is told,
 * and what that means. It is installed for plugins, too; ADAPTER_ABI grows with every change of this.
 *
 * A job is known by its name. Ids are used again by servers that lost their state, and wrap: no order goes to an id
 * that a listing has not just shown under the job's name. There is one listing for all questions and orders of a
 * time.
 *
 * All is called on the loop thread, but for what says otherwise. */
#ifndef SCHEDULER_ADAPTERS_BATCH_H
#define SCHEDULER_ADAPTERS_BATCH_H
#include "scheduler-adapters/adapter.h"
#include "scheduler-adapters/answers.h"
#include "scheduler-adapters/batch_rows.h"
#include "scheduler-adapters/command.h"

#define BATCH_PROGRAMS_MAX 8
#define BATCH_WORDS_MAX 65536 /* bytes of what commands print that list nothing */

struct batch_listing;
struct batch_group;
struct batch_look;
struct batch_known;
struct batch_order;
struct batch_overdue;

typedef void batch_look_cb(void *arg, const struct batch_rows *rows, const struct error *err); /* NULL rows: err */

/* The orders that are one command for many ids. */
enum batch_deed {
    BATCH_TAKE_OUT, /* what waits, of the queue */
    BATCH_TERM,     /* SIGTERM to the runner of what runs; likewise: */
    BATCH_USR1,
    BATCH_USR2,
    BATCH_KILL, /* what runs, with all its processes */
    BATCH_DEEDS
};

/* NULL err: it is done, or they are gone. */
typedef void batch_deed_cb(void *arg, const struct error *err);

/* A system's own; the strings and lists are constant. */
struct batch_system {
    const char *word;            /* "PBS": what it is called in reasons and in the log */
    const char *const *programs; /* ended by NULL; a setting of its own name may name another, or a path */
    size_t programs_needed;      /* the first so many: the others are used only where they are there */
    /* Variables of the daemon's that they see, ended by NULL. Never everything: there are tokens in it. */
    const char *const *for_commands, *const *for_jobs;
    bool jobs_inherit;      /* jobs see what the command that submits them does, which is for_jobs */
    int64_t timeout_ms;     /* unless it is set */
    int64_t remembered_ms;  /* what was submitted and is out of the listing is known for so long */
    size_t list_max;        /* bytes of a listing */
    size_t ids_max;         /* of one command */
    unsigned endings_most;  /* orders at once; 1: one after another */
    struct {
        int program;
        const char *words[3]; /* before the ids; ended by NULL */
    } deed[BATCH_DEEDS];
    const char *const *gone; /* parts of what orders say of ids that have ended, or are about to; ended by NULL */
    /* A deed for these ids, where it is not one command; cb is not called from inside the call, for which ids are borrowed. NULL: it is
     * one. */
    void (*carry_out)(struct adapter *a, enum batch_deed deed, const char *const *ids, size_t n, batch_deed_cb *cb, void *arg);

    /* Have batch_listing_run(), _read() or _fail() called, now or later. */
    void (*list)(struct adapter *a, struct batch_listing *listing);
    /* The rows of what was listed, which need not be sorted; -1 where it is not whole. May change the text. From any
     * thread. */
    int (*parse)(struct batch_rows *rows, char *text, size_t size, struct error *err);
    void (*status)(const struct adapter *a, const struct batch_row *row, struct adapter_status *status);
    /* A job that an answer is about, and that waits. NULL: nothing is to be done. */
    void (*waits)(struct adapter *a, const struct batch_row *row);
    /* What became of jobs that the listing lacks, as far as there is a record of it: rows that may be none, or NULL.
     * `since`: when the first was submitted, Unix seconds, 0: not known. Answered now or later; ids are borrowed for
     * the call. */
    void (*past)(struct adapter *a, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb, void *arg);
    /* go(arg), now or later, once what is needed to submit is known, or cannot be. NULL: nothing is. */
    void (*ready)(struct adapter *a, void (*go)(void *arg), void *arg);
    void (*send)(struct batch_group *group); /* submit it; batch_group_answered() follows, now or later */
    void (*task_id)(const char *id, int64_t task, char *out, size_t size); /* of an array of that id */
    /* Take this row, which waits, out of the queue, but not if it has begun meanwhile; then batch_order_done(). */
    void (*withdraw)(struct batch_order *order, const struct batch_row *row);
    void (*fini)(struct adapter *a); /* free what is its own, but for the struct */
};

/* The first member of the system's own struct. */
struct adapter {
    const struct batch_system *system;
    struct adapter_host host;
    struct answers *answers;
    struct commands *submissions, *questions, *endings;
    const char *program[BATCH_PROGRAMS_MAX];
    int64_t limit_ms[BATCH_PROGRAMS_MAX]; /* of one command */
    char **env, **job_env;                /* of commands; of jobs */
    const json_t *extra;
    int64_t timeout_ms, interval_ms;
    struct error no_runner; /* text "": there is one */

    struct batch_look *waiting, *looking; /* batch_look.c: who waits for a listing, and for the one under way */
    uint64_t listings;
    struct batch_known *known; /* batch_known.h */

    struct batch_submission *gathered, **last_gathered; /* batch_gather.c: jobs that wait for others like them */
    size_t array_max;  /* how many jobs an array may have, and what its last number may be; 0: not known; set by the system, like: */
    bool no_gaps;      /* its numbers follow one another */
    size_t array_most; /* how many have gone together of late: sites limit it otherwise, too */
    int64_t gather_ms;
    uint64_t gathered_since, paced; /* loop time: of the first; each time that some go moves it on by gather_ms */
    bool sending;
    uv_timer_t gather_timer;

    struct batch_order *orders, *taken; /* batch_orders.c: that wait for a look; that one is under way for */
    bool look_is_due;                   /* for orders, on the next turn of the loop */
    struct batch_overdue *overdue;      /* batch_overdue.c, with its timer */
    int64_t overrun_ms, kill_again_ms;  /* beyond its grace, before a cancelled job is killed; and again */
    uv_timer_t timer;

    size_t busy; /* answers that are owed */
    bool closing;
    int stopping; /* of its parts that are not closed */
    void (*destroyed)(void *arg);
    void *destroyed_arg;
};

/* batch.c: the life of an adapter, and its commands. */
/* Fills in what is shared, of `a`, which is zero. -1, with nothing to be freed but the struct, where the
 * configuration is wrong. `command_settings`: NAME=VALUE for the environment of commands, ended by NULL, or NULL;
 * likewise for that of jobs. */
int batch_init(struct adapter *a, const struct batch_system *system, const struct adapter_host *host,
               const char *const *command_settings, const char *const *job_settings, struct error *err);
void batch_closing(struct adapter *a);      /* another handle, or part, is being closed; */
void batch_closed(uv_handle_t *handle);     /* it is: its data is the adapter; */
void batch_part_gone(void *arg);            /* which is the argument */
void batch_busy(struct adapter *a);         /* an answer is owed */
void batch_idle(struct adapter *a);         /* it has been given: last in whatever gives it */
/* `in` may be NULL; the arguments are ended by NULL, without the program. */
void batch_run(struct adapter *a, struct commands *commands, int program, const char *const *args, const char *in, size_t out_max,
               command_cb *cb, void *arg);
/* -1 with the reason where it did not exit with status 0. */
int batch_check(const struct command_result *result, const char *program, struct error *err);
/* To a submission whose command did not exit by itself. */
enum adapter_answer batch_no_answer(const struct command_result *result);
bool batch_says(const char *said, const char *const *words); /* one of them, which are ended by NULL */
int64_t batch_divide_up(int64_t a, int64_t b);
/* Of each of its nodes. */
int64_t batch_mebibytes(const struct adapter_resources *want);
int64_t batch_gpus(const struct adapter_resources *want);
/* What a row says by itself: its id and state, what it waits for, or where and since when it runs or ran. */
void batch_row_status(const struct batch_row *row, struct adapter_status *status);

/* Those who wait for something that is asked for once. The first to wait is to ask: true. All are called by the
 * other. */
struct batch_wait {
    struct batch_wait *next;
    void (*go)(void *arg);
    void *arg;
};
bool batch_wait(struct batch_wait **list, void (*go)(void *arg), void *arg);
void batch_waited(struct batch_wait **list);

/* batch_look.c: one listing for all who ask. */
/* The jobs as they are at some time after this call; those that are over may be among them. */
void batch_look(struct adapter *a, batch_look_cb *cb, void *arg);
/* One that is not shared, for a system's `past`. */
struct batch_listing *batch_listing_new(struct adapter *a, batch_look_cb *cb, void *arg);
/* By a command, whose output the system's parse() is given, if its exit status is 0. */
void batch_listing_run(struct batch_listing *listing, int program, const char *const *args);
void batch_listing_read(struct batch_listing *listing, const char *text, size_t size); /* a copy of it is parsed */
void batch_listing_fail(struct batch_listing *listing, const struct error *err);
struct adapter *batch_listing_adapter(const struct batch_listing *listing);
struct batch_rows *batch_listing_rows(struct batch_listing *listing); /* to set its kind and user, before it is read */
void batch_listing_none(struct batch_listing *listing); /* there are no rows */

/* batch_submit.c: a job to be submitted. */
struct batch_submission {
    struct batch_submission *next;
    struct adapter *a;
    char name[64];
    adapter_submit_cb *cb;
    void *arg;
    int64_t number; /* that the name and the directory end with, of which jobs of one shape make an array; */
    size_t digits;  /* 0: none, and it goes alone */
    struct adapter_job job; /* with what it points to: */
    char *dir, *queue, *account;
    json_t *extra;
};
/* NULL where it is answered already: it is known to be there, or there is no runner. */
struct batch_submission *batch_submission_new(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg);
void batch_submission_end(struct batch_submission *s, enum adapter_answer answer, const char *id, const struct error *err);

/* batch_gather.c: what goes by one command: one job, or several of one shape, in the order of their numbers, as an
 * array named "STEMBASE+", of which task T is the job "STEM(BASE+T)". */
struct batch_group {
    struct batch_group *next;
    struct adapter *a;
    struct batch_submission *first, **last;
    size_t n;
    int64_t base;
    struct batch_group *rest; /* it goes first, to see whether the rest was refused for its size alone; */
    struct error why;         /* which was for this */
};
void batch_gather_init(struct adapter *a);
void batch_gather_stop(struct adapter *a); /* what waits is not submitted */
/* Takes the group over. is_definite: it is sure that nothing of it was accepted; with ADAPTER_UNSURE the jobs are submitted again
 * later. */
void batch_group_answered(struct batch_group *group, enum adapter_answer answer, bool is_definite, const char *id,
                          const struct error *err);
void batch_group_name(const struct batch_group *group, char *out, size_t size); /* the job's, or the array's */
char *batch_group_list(const struct batch_group *group); /* "0-4,6": its tasks; to be freed, like: */
char *batch_group_dir(const struct batch_group *group);  /* the job's, or what stands before the number in all of them */

/* batch_orders.c, for a system's `withdraw`. */
struct adapter *batch_order_adapter(const struct batch_order *order);
const char *batch_order_id(const struct batch_order *order);
/* The row of its id; NULL: there is none. */
const struct batch_row *batch_order_row(const struct batch_order *order, const struct batch_rows *rows);
void batch_order_done(struct batch_order *order, enum adapter_answer answer, const char *code, const char *why);

/* batch_deeds.c: ids are borrowed for the call; a deed that hurries does not wait for those before it. */
void batch_carry_out(struct adapter *a, enum batch_deed deed, bool hurries, const char *const *ids, size_t n, batch_deed_cb *cb, void *arg);
/* The same by one command, also where the system has something else. */
void batch_carry_out_by_command(struct adapter *a, enum batch_deed deed, bool hurries, const char *const *ids, size_t n, batch_deed_cb *cb,
                                void *arg);
/* It has ended with nothing but words of ids that are gone. */
bool batch_only_gone(const struct adapter *a, const struct command_result *result);

/* batch_overdue.c: a cancelled job is to be killed if it does not end in time. */
void batch_overdue_add(struct adapter *a, const char *name, int64_t grace_ms);
void batch_overdue_init(struct adapter *a);
void batch_overdue_stop(struct adapter *a); /* nothing is overdue any more */

/* Methods of the adapter. */
void batch_destroy(struct adapter *a, void (*done)(void *arg), void *arg);
int batch_ready(struct adapter *a, struct error *err); /* are the programs there that it needs? */
int batch_no_check(struct adapter *a, const struct adapter_resources *want, struct error *err);
int batch_no_slots(struct adapter *a);
int64_t batch_interval_ms(struct adapter *a);
void batch_submit(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg);
void batch_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);
void batch_find(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);
void batch_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg);
void batch_withdraw(struct adapter *a, const char *name, const char *scheduler_id, adapter_done_cb *cb, void *arg);
void batch_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg);

/* Those that all such adapters have alike. */
#define BATCH_METHODS                                                                                                   \
    .slots = batch_no_slots, .interval_ms = batch_interval_ms, .submit = batch_submit, .poll = batch_poll,              \
    .find = batch_find, .cancel = batch_cancel, .withdraw = batch_withdraw, .signal = batch_signal
#endif
