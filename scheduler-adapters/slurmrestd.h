/* The adapter for Slurm over its REST server. It gives Slurm the same orders as the slurm adapter (slurm.h) and
 * interprets the answers alike; only the transport differs. A listing shows the numbers of an array's waiting tasks
 * only as far as their ranges fit into 64 characters. Therefore an array has no gaps in its numbers, and asks that all
 * of its tasks may run at once: the listing shows that number, and so how many tasks there are. */
#ifndef SCHEDULER_ADAPTERS_SLURMRESTD_H
#define SCHEDULER_ADAPTERS_SLURMRESTD_H
#include "scheduler-adapters/rest.h"
#include "scheduler-adapters/slurm.h"

#define SLURMRESTD_OLDEST 36 /* the oldest API version that is understood, v0.0.36 */
#define SLURMRESTD_NEWEST 43
#define SLURMRESTD_OBJECTS 39          /* from this version on, numbers are objects, and lists are arrays */
#define SLURMRESTD_WORDS_MAX (1 << 20) /* bytes of an answer that lists no jobs */

struct slurmrestd {
    struct adapter batch;
    struct rest *rest;       /* NULL: no url is set */
    char *user, *token_file; /* the user whose jobs are the daemon's; token_file: NULL: none */
    int uid;                 /* of that user; -1: not known here */

    int version; /* slurmrestd_ask.c: 38 for v0.0.38; 0: not known, for the reason `unknown` */
    struct error unknown;
    struct batch_wait *version_waiting;
    bool has_accounts; /* this version has accounts (slurmdb) */

    struct slurm_silence silence; /* of the accounts */
    uint64_t limits_next;         /* loop time before which the accounts are not asked for limits */

    struct slurm_times times; /* slurmrestd_time.c */
};

static inline struct slurmrestd *slurmrestd_of(struct adapter *a)
{
    return (struct slurmrestd *)a;
}

/* slurmrestd_ask.c: requests in the newest API version that both sides know, which is found out first. */
/* Calls go(arg), now or later, when the version is known or could not be found out. */
void slurmrestd_version_ready(struct slurmrestd *a, void (*go)(void *arg), void *arg);
/* Sends a request, which is copied; `path` is the part after "/slurm/v0.0.38". cb is never called from inside the
 * call. */
void slurmrestd_ask(struct slurmrestd *a, const char *method, const char *path, const char *body, size_t max,
                    rest_cb *cb, void *arg);
/* Asks the accounts; `path` is the part after "/slurmdb/v0.0.38". */
void slurmrestd_ask_accounts(struct slurmrestd *a, const char *path, rest_cb *cb, void *arg);
/* Returns the newest version that is understood, among the paths below this root ("slurm") in a description of the
 * server; 0: none. */
int slurmrestd_version_in(const char *text, const char *root);
/* Returns whether the description has this version. */
bool slurmrestd_has_version(const char *text, const char *root, int version);

/* slurmrestd_said.c: reads the errors in the server's answers. */
struct slurmrestd_said {
    char text[400]; /* in Slurm's words; "" if there are none */
    int number;     /* Slurm's error number; 0: none */
};
void slurmrestd_read_said(const struct rest_result *result, struct slurmrestd_said *said);
/* Fails, with the reason, if the server did not answer with status 200. */
int slurmrestd_check(const struct slurmrestd *a, const struct rest_result *result, struct error *err);

/* slurmrestd_rows.c */
/* Returns 5 for 5, "5" or {"set": true, "number": 5}; -1 for anything else. */
int64_t slurmrestd_number(const json_t *value);
/* Reads the jobs of the rows' user (kind: the user's number) from /slurm/…/jobs or /slurmdb/…/jobs. -1 if the
 * answer is not whole, or reports an error. */
int slurmrestd_parse(struct batch_rows *rows, char *text, size_t size, struct error *err);

/* Counts the user's jobs in /slurm/…/jobs that were there at that time or since, and each task of an array. None are
 * missing, but some may be too many. Returns -1 as slurmrestd_parse(). */
int64_t slurmrestd_count(struct batch_rows *rows, const char *text, size_t size, int64_t since, struct error *err);

/* slurmrestd_options.c: puts sbatch's options into a job of the API, as far as the API has a counterpart (job NULL:
 * only checks). Returns -1 with the place, below `at`, of an option that has none, or whose value is wrong. */
int slurmrestd_options(const json_t *extra, const char *at, int version, json_t *job, struct error *err);
void slurmrestd_set_gpus(json_t *job, int version, int64_t gpus); /* GPUs on each node */
json_t *slurmrestd_make_number(int version, int64_t number);
json_t *slurmrestd_make_flag(int version, const char *old, const char *word);

/* slurmrestd_past.c: see slurm_past(). */
void slurmrestd_past(struct adapter *a, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb, void *arg);

/* slurmrestd_time.c: calls go(arg), now or later, when the version and the partitions' limits are known or could not be
 * found out. */
void slurmrestd_ready(struct adapter *a, void (*go)(void *arg), void *arg);
void slurmrestd_read_times(struct slurm_times *times, const char *text);

/* slurmrestd_submit.c */
void slurmrestd_send(struct batch_group *group);
/* Returns the document that submits a job, or an array; the caller frees it. NULL with err if an option has no
 * counterpart. */
char *slurmrestd_document(const struct batch_group *group, const json_t *site_extra, const char *script,
                          const char *const *env, int64_t minutes, int version, struct error *err);

/* slurmrestd_limits.c: answers a group of one job that violates a limit. The server does not report which limit; sbatch
 * gets that. */
void slurmrestd_look_for_limit(struct batch_group *group, const char *words);
/* The limits on the number of jobs, read from the answers about QOS and about associations, either of which may be
 * NULL. */
struct slurmrestd_limits {
    int64_t most;   /* jobs of this user; INT64_MAX: any number */
    bool is_shared; /* other users' jobs count towards some limits */
    bool denies;    /* a job that is larger or longer than a limit may be refused, where elsewhere it would wait */
};
void slurmrestd_limits_read(struct slurmrestd_limits *limits, const char *user, const json_t *answer);

/* slurmrestd_orders.c */
void slurmrestd_carry_out(struct adapter *a, enum batch_deed deed, const char *const *ids, size_t n, batch_deed_cb *cb,
                          void *arg);
void slurmrestd_withdraw(struct batch_order *order, const struct batch_row *row);
#endif
