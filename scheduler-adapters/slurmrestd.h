/* The adapter for Slurm over its REST server: what it says to Slurm is as with the slurm adapter (slurm.h), and so is what it
 * makes of the answers; only the way is another. A listing shows of an array's waiting tasks only the first few by their numbers, as
 * many as its ranges fit into 64 characters. An array's numbers have no gaps, therefore, and which tasks it has stands in it. */
#ifndef SCHEDULER_ADAPTERS_SLURMRESTD_H
#define SCHEDULER_ADAPTERS_SLURMRESTD_H
#include "scheduler-adapters/rest.h"
#include "scheduler-adapters/slurm.h"

#define SLURMRESTD_OLDEST 36 /* of its API versions, v0.0.36, that are understood */
#define SLURMRESTD_NEWEST 43
#define SLURMRESTD_OBJECTS 39 /* since this one numbers are objects, and lists lists */
#define SLURMRESTD_WORDS_MAX (1 << 20) /* bytes of an answer that lists no jobs */

struct slurmrestd {
    struct adapter batch;
    struct rest *rest; /* NULL: no url is set */
    char *user, *token_file; /* whose jobs are ours; token_file: NULL: none */
    int uid;                 /* of that user; -1: not known here */

    int version; /* slurmrestd_ask.c: 38: v0.0.38; 0: not known, for this: */
    struct error unknown;
    struct batch_wait *version_waiting;
    bool has_accounts; /* in that version */

    struct slurm_silence silence; /* of the accounts */
    uint64_t limits_next;         /* loop time, before which they are not asked for limits */

    struct slurm_times times; /* slurmrestd_time.c */
};

static inline struct slurmrestd *slurmrestd_of(struct adapter *a)
{
    return (struct slurmrestd *)a;
}

/* slurmrestd_ask.c: requests in the newest API version that both sides know, which is found out before. */
/* go(arg), now or later, once the version is known, or cannot be. */
void slurmrestd_version_ready(struct slurmrestd *a, void (*go)(void *arg), void *arg);
/* path: after "/slurm/v0.0.38". Copied; cb is never called from inside the call. */
void slurmrestd_ask(struct slurmrestd *a, const char *method, const char *path, const char *body, size_t max, rest_cb *cb, void *arg);
/* The same of the accounts, after "/slurmdb/v0.0.38". */
void slurmrestd_ask_accounts(struct slurmrestd *a, const char *path, rest_cb *cb, void *arg);
/* The newest version that a description of the server has among its paths below this root ("slurm"), of those that are understood; 0:
 * none. */
int slurmrestd_version_in(const char *text, const char *root);
/* Whether it has this one. */
bool slurmrestd_has_version(const char *text, const char *root, int version);

/* slurmrestd_said.c: what the server says is wrong. */
struct slurmrestd_said {
    char text[400]; /* in Slurm's words; "" where there are none */
    int number;     /* Slurm's; 0: none */
};
void slurmrestd_read_said(const struct rest_result *result, struct slurmrestd_said *said);
/* -1 with the reason where it did not answer with status 200. */
int slurmrestd_check(const struct slurmrestd *a, const struct rest_result *result, struct error *err);

/* slurmrestd_rows.c */
/* 5, "5" or {"set": true, "number": 5}; -1: none. */
int64_t slurmrestd_number(const json_t *value);
/* Those of the rows' user (kind: the user's number), of /slurm/…/jobs or of /slurmdb/…/jobs. -1 where it is not whole, or says that
 * something is wrong. */
int slurmrestd_parse(struct batch_rows *rows, char *text, size_t size, struct error *err);

/* How many of the user's jobs, of /slurm/…/jobs, there were at that time or since, the tasks of arrays counted each; none are missing,
 * but some may be too many. -1 as above. */
int64_t slurmrestd_count(struct batch_rows *rows, const char *text, size_t size, int64_t since, struct error *err);

/* slurmrestd_options.c: sbatch's options, as far as the API has a counterpart, put into a job of it (NULL: only checked). -1
 * with the place, below `at`, where one has none, or its value is wrong. */
int slurmrestd_options(const json_t *extra, const char *at, int version, json_t *job, struct error *err);
void slurmrestd_set_gpus(json_t *job, int version, int64_t gpus); /* of a node */
json_t *slurmrestd_make_number(int version, int64_t number);
json_t *slurmrestd_make_flag(int version, const char *old, const char *word);

/* slurmrestd_past.c: as slurm_past(). */
void slurmrestd_past(struct adapter *a, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb, void *arg);

/* slurmrestd_time.c: go(arg), now or later, once the version and the partitions' limits are known, or cannot be. */
void slurmrestd_ready(struct adapter *a, void (*go)(void *arg), void *arg);
void slurmrestd_read_times(struct slurm_times *times, const char *text);

/* slurmrestd_submit.c */
void slurmrestd_send(struct batch_group *group);
/* The document that submits a job, or an array; to be freed. NULL with err where an option has no counterpart. */
char *slurmrestd_document(const struct batch_group *group, const json_t *site_extra, const char *script, const char *const *env,
                          int64_t minutes, int version, struct error *err);

/* slurmrestd_limits.c: answers about a job alone that violates a limit, of which is not said here which one, where sbatch says it. */
void slurmrestd_look_for_limit(struct batch_group *group, const char *words);
/* What the limits on how many jobs there may be are, by the answers about QOS and associations, either of which may be NULL. */
struct slurmrestd_limits {
    int64_t most;   /* jobs of this user; INT64_MAX: any */
    bool is_shared; /* there are such that others count for */
    bool denies;    /* a job that is larger, or longer, than a limit may be refused, where it would wait elsewhere */
};
void slurmrestd_limits_init(struct slurmrestd_limits *limits);
void slurmrestd_limits_read(struct slurmrestd_limits *limits, const char *user, const json_t *answer);

/* slurmrestd_orders.c */
void slurmrestd_carry_out(struct adapter *a, enum batch_deed deed, const char *const *ids, size_t n, batch_deed_cb *cb, void *arg);
void slurmrestd_withdraw(struct batch_order *order, const struct batch_row *row);
#endif
