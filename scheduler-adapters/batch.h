/* The common part of adapters that drive a batch system by its commands (pbs, slurm), or by requests that do the same
 * (slurmrestd). Such an adapter fills in a struct batch_system, and contains only what is special to its system: what
 * to ask for, how to read the answers, and what they mean. The header is installed for plugins, too; ADAPTER_ABI grows
 * with every change of it.
 *
 * A job is known by its name. Ids wrap, and servers that lost their state use them again: no order goes to an id that a
 * listing has not just shown under the job's name. One listing serves all questions and orders of a time.
 *
 * All functions are called on the loop thread, unless their comment says otherwise. */
#ifndef SCHEDULER_ADAPTERS_BATCH_H
#define SCHEDULER_ADAPTERS_BATCH_H
#include "scheduler-adapters/adapter.h"
#include "scheduler-adapters/answers.h"
#include "scheduler-adapters/batch_rows.h"
#include "scheduler-adapters/command.h"
#include "scheduler-adapters/options.h"

#define BATCH_PROGRAMS_MAX 8
#define BATCH_WORDS_MAX 65536 /* bytes kept of the output of commands that list nothing */

struct batch_listing;
struct batch_group;
struct batch_look;
struct batch_known;
struct batch_array_limit;
struct batch_bundle;
struct batch_order;
struct batch_overdue;

/* NULL rows: the listing failed with err */
typedef void batch_look_cb(void *arg, const struct batch_rows *rows, const struct error *err);

/* The orders that one command carries out for many ids. */
enum batch_deed {
    BATCH_TAKE_OUT, /* takes waiting jobs out of the queue */
    BATCH_TERM,     /* signals the runners of running jobs */
    BATCH_USR1,
    BATCH_USR2,
    BATCH_KILL, /* kills running jobs with all their processes */
    BATCH_DEEDS
};

/* NULL err: the deed is done, or the jobs are gone. */
typedef void batch_deed_cb(void *arg, const struct error *err);

/* The properties of one batch system; the strings and lists are constant. */
struct batch_system {
    const char *word;                    /* the system's name in reasons and in the log, e.g. "PBS" */
    const struct option_syntax *options; /* of the command that submits; NULL: `extra` is not checked here */
    const char *const *programs; /* ended by NULL; the setting of a program's name may give another name or a path */
    /* so many programs, the first ones, must be there; the others are used if they are there */
    size_t programs_needed;
    /* The daemon's variables that commands and jobs see, ended by NULL. The whole environment is never passed: it may
     * hold tokens. */
    const char *const *for_commands, *const *for_jobs;
    bool jobs_inherit;     /* jobs get the environment of the command that submits them, which is then for_jobs */
    int64_t timeout_ms;    /* the default of the setting */
    int64_t remembered_ms; /* a submitted job that is out of the listing is remembered so long */
    size_t list_max;       /* bytes of a listing */
    size_t ids_max;        /* ids in one command */
    size_t past_max;       /* jobs and arrays in one question to `past`; 0: any number */
    unsigned a_minute;     /* the default of the setting "connections"; 0: there is no limit, and no such setting */
    unsigned endings_most; /* orders at once; 1: one after another */
    struct {
        int program;
        const char *words[3]; /* the words before the ids, ended by NULL */
    } deed[BATCH_DEEDS];
    const char *const *gone; /* what orders print about ids that have ended or are about to, in parts; ended by NULL */
    /* Carries out a deed for these ids if that is not one command; cb is not called from inside the call, and ids
     * are borrowed for it. NULL: each deed is one command. */
    void (*carry_out)(struct adapter *a, enum batch_deed deed, const char *const *ids, size_t n, batch_deed_cb *cb,
                      void *arg);

    /* Starts a listing: batch_listing_run(), _read() or _fail() is called, now or later. */
    void (*list)(struct adapter *a, struct batch_listing *listing);
    /* Called when a command of the listing that all share has failed, or its rows are read (NULL). It may begin another
     * command, whose rows are added, and then returns true. NULL: a listing is one command. */
    bool (*list_on)(struct adapter *a, struct batch_listing *listing, const struct command_result *failed);
    /* Reads the rows of a listing, in any order; -1 if the listing is not whole. It may change the text. Callable
     * from any thread. */
    int (*parse)(struct batch_rows *rows, char *text, size_t size, struct error *err);
    void (*status)(const struct adapter *a, const struct batch_row *row, struct adapter_status *status);
    /* Called for a waiting job that an answer is about. NULL: nothing is to be done. */
    void (*waits)(struct adapter *a, const struct batch_row *row);
    /* Looks up jobs that the listing lacks in the system's records, if there are any: the rows may be none, or NULL.
     * `since`: when the first of the jobs was submitted, Unix seconds, 0: not known. The answer comes now or later; ids
     * are borrowed for the call. */
    void (*past)(struct adapter *a, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb, void *arg);
    /* Calls go(arg), now or later, when what is needed to submit is known or cannot be known. NULL: nothing is
     * needed. */
    void (*ready)(struct adapter *a, void (*go)(void *arg), void *arg);
    void (*send)(struct batch_group *group); /* submits the group; batch_group_answered() follows, now or later */
    /* writes the id of one task of the array `id` */
    void (*task_id)(const char *id, int64_t task, char *out, size_t size);
    /* Takes the job of this row, which waits, out of the queue, unless it has begun meanwhile; then calls
     * batch_order_done(). */
    void (*withdraw)(struct batch_order *order, const struct batch_row *row);
    void (*fini)(struct adapter *a); /* frees what is the system's own, except the struct */
};

/* batch_look.c: callers that wait for a listing, and those of the listing under way. */
struct batch_looks {
    struct batch_look *waiting, *under_way;
    uint64_t listings;
    struct batch_known *known; /* batch_known.h */
};

/* batch_gather.c: jobs that wait for others like them. */
struct batch_gathering {
    struct batch_submission *first, **last;
    /* the limit for the number of jobs in an array and for its last number, set by the system; 0: not known */
    size_t array_max;
    bool no_gaps;                           /* the numbers in an array must follow one another; set by the system */
    struct batch_array_limit *array_limits; /* those that only trying has shown, by queue and account */
    int64_t forget_ms;                      /* after which they are forgotten */
    int64_t wait_ms;                        /* a job waits at most so long for others */
    /* loop times: when the first came; and a time that each sending moves on by wait_ms, to limit bursts */
    uint64_t since, paced;
    bool sending;
    uv_timer_t timer;
};

/* batch_orders.c: orders that wait for a listing, and those of the listing under way. */
struct batch_orders {
    struct batch_order *waiting, *taken;
    struct batch_bundle *held;     /* orders to running jobs, until waiting ones are taken out */
    size_t taking_out;             /* commands under way that take waiting jobs out */
    struct error stays;            /* why the last of them failed; text "": none has */
    unsigned stayed;               /* rounds of them in a row in which one failed */
    bool look_is_due;              /* a listing for orders begins on the next turn of the loop */
    struct batch_overdue *overdue; /* batch_overdue.c, with its timer */
    /* after the grace, until a cancelled job is killed; then until it is killed again */
    int64_t overrun_ms, kill_again_ms;
    uv_timer_t timer;
};

/* The first member of each system's own struct. */
struct adapter {
    const struct batch_system *system;
    struct adapter_host host;
    struct answers *answers;
    struct commands *submissions, *questions, *endings;
    struct command_pace pace;
    const char *program[BATCH_PROGRAMS_MAX];
    int64_t limit_ms[BATCH_PROGRAMS_MAX]; /* of one command */
    char **env, **job_env;                /* of commands; of jobs */
    const json_t *extra;
    int64_t timeout_ms, interval_ms;
    struct error no_runner; /* text "": there is a runner */

    struct batch_looks looks;
    struct batch_gathering gathering;
    struct batch_orders orders;

    size_t busy; /* answers that are owed */
    bool closing;
    int stopping; /* parts that are not closed yet */
    void (*destroyed)(void *arg);
    void *destroyed_arg;
};

/* batch.c: the life of an adapter, and its commands. */
/* Fills in the common part of `a`, which is zero. -1 if the configuration is wrong; then only the struct is to be
 * freed. `command_settings` and `job_settings`: NAME=VALUE for the environment of commands and of jobs, ended by NULL,
 * or NULL. */
int batch_init(struct adapter *a, const struct batch_system *system, const struct adapter_host *host,
               const char *const *command_settings, const char *const *job_settings, struct error *err);
void batch_closing(struct adapter *a);  /* one more handle or part is being closed */
void batch_closed(uv_handle_t *handle); /* the handle is closed; its data is the adapter */
void batch_part_gone(void *arg);        /* the part is closed; arg is the adapter */
void batch_busy(struct adapter *a);     /* an answer is owed */
void batch_idle(struct adapter *a);     /* the answer has been given; called last by the code that gives it */
/* Runs a program with these arguments (ended by NULL, without the program). `in` may be NULL. It makes one connection
 * to the batch system, or `cost`. */
void batch_run_costing(struct adapter *a, struct commands *commands, int program, const char *const *args,
                       const char *in, size_t out_max, unsigned cost, command_cb *cb, void *arg);
void batch_run(struct adapter *a, struct commands *commands, int program, const char *const *args, const char *in,
               size_t out_max, command_cb *cb, void *arg);
/* Fails, with the reason, if the command did not exit with status 0. */
int batch_check(const struct command_result *result, const char *program, struct error *err);
/* The answer to a submission whose command did not exit by itself. */
enum adapter_answer batch_no_answer(const struct command_result *result);
bool batch_says(const char *said, const char *const *words); /* contains one of the words, which are ended by NULL */
int64_t batch_divide_up(int64_t a, int64_t b);
/* The amount that each node must have. */
int64_t batch_mebibytes(const struct adapter_resources *want);
int64_t batch_gpus(const struct adapter_resources *want);
/* Fills in what the row itself says: its id and state, and what it waits for, or where and since when it runs or
 * ran. */
void batch_row_status(const struct batch_row *row, struct adapter_status *status);

/* A list of callers that wait for one thing, which is asked for once. batch_wait() returns true to the first caller,
 * who is to ask; batch_waited() calls them all. */
struct batch_wait {
    struct batch_wait *next;
    void (*go)(void *arg);
    void *arg;
};
bool batch_wait(struct batch_wait **list, void (*go)(void *arg), void *arg);
void batch_waited(struct batch_wait **list);

/* batch_look.c: one listing for all who ask. */
/* Lists the jobs as they are at some time after this call; jobs that are over may be among them. */
void batch_look(struct adapter *a, batch_look_cb *cb, void *arg);
/* A listing that is not shared, for a system's `past`. */
struct batch_listing *batch_listing_new(struct adapter *a, batch_look_cb *cb, void *arg);
/* Runs a command; the system's parse() reads its output if its exit status is 0. */
void batch_listing_run(struct batch_listing *listing, int program, const char *const *args);
void batch_listing_run_costing(struct batch_listing *listing, int program, const char *const *args, unsigned cost);
void batch_listing_read(struct batch_listing *listing, const char *text, size_t size); /* parses a copy of the text */
void batch_listing_fail(struct batch_listing *listing, const struct error *err);
struct adapter *batch_listing_adapter(const struct batch_listing *listing);
/* to set their kind and user before the listing is read */
struct batch_rows *batch_listing_rows(struct batch_listing *listing);
void batch_listing_none(struct batch_listing *listing); /* the listing has no rows */

/* batch_submit.c: a job to be submitted. */
struct batch_submission {
    struct batch_submission *next;
    struct adapter *a;
    char name[64];
    adapter_submit_cb *cb;
    void *arg;
    /* the number at the end of the name and the directory; jobs of one shape that have one can be an array */
    int64_t number;
    size_t digits;          /* of the number; 0: there is none, and the job is submitted alone */
    struct adapter_job job; /* with these copies of what it points to: */
    char *dir, *queue, *account;
    json_t *extra;
};
/* NULL if the call is answered already: the job is known to be there, or there is no runner. */
struct batch_submission *batch_submission_new(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb,
                                              void *arg);
void batch_submission_end(struct batch_submission *s, enum adapter_answer answer, const char *id,
                          const struct error *err);

/* batch_gather.c: the jobs of one command. They are one job, or several of one shape, in the order of their numbers.
 * Several form an array named "STEMBASE+", of which task T is the job "STEM(BASE+T)". */
struct batch_group {
    struct batch_group *next;
    struct adapter *a;
    struct batch_submission *first, **last;
    size_t n;
    int64_t base;
    /* this group is the first job of a refused array, sent alone to see whether `rest` was refused for its size */
    struct batch_group *rest;
    struct error why; /* the reason why the array was refused */
};
void batch_gather_init(struct adapter *a);
void batch_gather_stop(struct adapter *a); /* jobs that wait are not submitted */
void batch_gather_fini(struct adapter *a);
/* Takes the group over. is_definite: it is certain that nothing of it was accepted; with ADAPTER_UNSURE the jobs are
 * then submitted again later. */
void batch_group_answered(struct batch_group *group, enum adapter_answer answer, bool is_definite, const char *id,
                          const struct error *err);
/* the name of the job, or of the array */
void batch_group_name(const struct batch_group *group, char *out, size_t size);
char *batch_group_list(const struct batch_group *group); /* the array's tasks, as "0-4,6"; to be freed */
/* the job's directory, or for an array the part before the number, which all have; to be freed */
char *batch_group_dir(const struct batch_group *group);

/* batch_orders.c, for a system's `withdraw`. */
struct adapter *batch_order_adapter(const struct batch_order *order);
const char *batch_order_id(const struct batch_order *order);
/* The row of the order's id; NULL: there is none. */
const struct batch_row *batch_order_row(const struct batch_order *order, const struct batch_rows *rows);
void batch_order_done(struct batch_order *order, enum adapter_answer answer, const char *code, const char *why);

/* batch_deeds.c: the ids are borrowed for the call; a deed that hurries does not wait for earlier ones. */
void batch_carry_out(struct adapter *a, enum batch_deed deed, bool hurries, const char *const *ids, size_t n,
                     batch_deed_cb *cb, void *arg);
/* Carries a deed out by one command, even if the system has another way. */
void batch_carry_out_by_command(struct adapter *a, enum batch_deed deed, bool hurries, const char *const *ids, size_t n,
                                batch_deed_cb *cb, void *arg);
/* Returns whether the command printed nothing but that ids are gone. */
bool batch_only_gone(const struct adapter *a, const struct command_result *result);

/* batch_overdue.c: kills cancelled jobs that do not end in time. */
void batch_overdue_add(struct adapter *a, const char *name, int64_t grace_ms);
void batch_overdue_init(struct adapter *a);
void batch_overdue_stop(struct adapter *a); /* forgets all jobs */

/* Methods of the adapter. */
void batch_destroy(struct adapter *a, void (*done)(void *arg), void *arg);
int batch_ready(struct adapter *a, struct error *err); /* fails if a program that is needed is missing */
/* Checks the options alone: only the batch system knows what its site has, and that may change at any time. */
int batch_check_options(struct adapter *a, const struct adapter_resources *want, struct error *err);
/* The same for a batch system by which the runner cannot start the launcher "copies" on other nodes. */
int batch_check_one_node(struct adapter *a, const struct adapter_resources *want, struct error *err);
int batch_no_slots(struct adapter *a);
int64_t batch_interval_ms(struct adapter *a);
void batch_submit(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg);
void batch_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);
void batch_find(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg);
void batch_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg);
void batch_withdraw(struct adapter *a, const char *name, const char *scheduler_id, adapter_done_cb *cb, void *arg);
void batch_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg);

/* The methods that are the same in all such adapters. */
#define BATCH_METHODS                                                                                                  \
    .slots = batch_no_slots, .interval_ms = batch_interval_ms, .submit = batch_submit, .poll = batch_poll,             \
    .find = batch_find, .cancel = batch_cancel, .withdraw = batch_withdraw, .signal = batch_signal
#endif
