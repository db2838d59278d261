/* The PBS adapter's own parts; the others are in batch.h. Jobs are submitted by qsub, looked up by qstat (one for
 * all), and ended by qsig and qdel. OpenPBS, PBS Pro and Torque have commands of the same names that differ in what
 * they take and print; which of them is there is found out.
 *
 * A job bears its whole name as the variable STRETTO_RUNNER: -N holds no more than 15 characters in some versions. */
#ifndef SCHEDULER_ADAPTERS_PBS_H
#define SCHEDULER_ADAPTERS_PBS_H
#include "scheduler-adapters/batch.h"

#define PBS_LIST_MAX (256 << 20) /* bytes of a listing, in which everybody's jobs are, with all their variables */
#define PBS_NAME_VARIABLE "STRETTO_RUNNER"
#define PBS_ID_MAX 80 /* bytes of what names a job, or a range of an array */

enum pbs_program { PBS_QSUB, PBS_QSTAT, PBS_QDEL, PBS_QSIG, PBS_QHOLD, PBS_QRLS };
enum pbs_kind { PBS_KIND_UNKNOWN, PBS_KIND_OPENPBS, PBS_KIND_TORQUE };

struct pbs_order;

struct pbs {
    struct adapter batch;
    const char *shell; /* of jobs */
    char *user;        /* NULL: not known */
    enum pbs_kind kind;
    struct error kind_unknown; /* why */
    struct batch_wait *waiting_for_kind;
    bool no_history;          /* the server says that it keeps none */
    struct pbs_order *orders; /* pbs_orders.c: commands, the first of which is under way */
};

static inline struct pbs *pbs_of(struct adapter *a)
{
    return (struct pbs *)a;
}

/* pbs_kind.c: go(arg), now or later, once its kind is known, or cannot be found out. */
void pbs_kind_ready(struct pbs *pbs, void (*go)(void *arg), void *arg);

/* pbs_look.c: what a system does. */
void pbs_list(struct adapter *a, struct batch_listing *listing);
int pbs_parse(struct batch_rows *rows, char *text, size_t size, struct error *err);
void pbs_past(struct adapter *a, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb, void *arg);

/* pbs_rows.c: rows from the attributes of qstat. */
struct batch_row *pbs_rows_add(struct batch_rows *rows, const char *id); /* the last one, until it is whole */
void pbs_row_set(struct batch_rows *rows, const char *attribute, const char *value); /* of the last one */
void pbs_rows_end(struct batch_rows *rows); /* the last one is whole: kept if it is ours */
void pbs_status(enum pbs_kind kind, const struct batch_row *row, struct adapter_status *status);

/* pbs_json.c, pbs_xml.c: what qstat prints; -1 where it is not whole. From any thread. The text is changed. */
int pbs_json_parse(struct batch_rows *rows, char *text, size_t size, struct error *err);
int pbs_xml_parse(struct batch_rows *rows, char *text, size_t size, struct error *err);

/* pbs_submit.c, pbs_orders.c, pbs_end.c: what a system does. */
void pbs_send(struct batch_group *group);
void pbs_carry_out(struct adapter *a, enum batch_deed what, const char *const *ids, size_t n, batch_deed_cb *cb, void *arg);
void pbs_withdraw(struct batch_order *order, const struct batch_row *row);
#endif
