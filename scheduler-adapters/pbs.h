/* The parts of the PBS adapter; its common parts are in batch.h. Jobs are submitted by qsub, looked up by qstat (one
 * for all), and ended by qsig and qdel. OpenPBS, PBS Pro and Torque have commands of the same names that take and print
 * different things; the adapter finds out which of them is there.
 *
 * The variable STRETTO_RUNNER of a job is its whole name: in some versions -N holds no more than 15 characters. */
#ifndef SCHEDULER_ADAPTERS_PBS_H
#define SCHEDULER_ADAPTERS_PBS_H
#include "scheduler-adapters/batch.h"

#define PBS_LIST_MAX (256 << 20) /* bytes of a listing, which has everybody's jobs with all their variables */
#define PBS_CONNECTIONS 240      /* of commands in a minute: less than half of the ports that they can use */
#define PBS_NAME_VARIABLE "STRETTO_RUNNER"
#define PBS_ID_MAX 80 /* bytes of a job's id, or of a range of an array */

enum pbs_program { PBS_QSUB, PBS_QSTAT, PBS_QDEL, PBS_QSIG, PBS_QHOLD, PBS_QRLS };
/* PBS_KIND_OPENPBS_ARRAYS: the kind of rows among which arrays stay, of OpenPBS */
enum pbs_kind { PBS_KIND_UNKNOWN, PBS_KIND_OPENPBS, PBS_KIND_TORQUE, PBS_KIND_OPENPBS_ARRAYS };

struct pbs_pieces {
    uint64_t until;                /* loop time until which listings are made in pieces */
    struct batch_listing *listing; /* the one under way; NULL: there is none in pieces */
    char (*arrays)[PBS_ID_MAX];    /* NULL: not known yet */
    size_t n, at;                  /* at: the first that is not asked for yet */
};

struct pbs_order;

struct pbs {
    struct adapter batch;
    const char *shell; /* of jobs */
    char *user;        /* NULL: not known */
    enum pbs_kind kind;
    struct error kind_unknown; /* why `kind` is not known */
    struct batch_wait *waiting_for_kind;
    bool no_history;          /* the server says that it keeps no history */
    struct pbs_order *orders; /* pbs_orders.c: commands, the first of which runs while `is_ordering` */
    bool is_ordering;
    struct pbs_pieces pieces;
};

static inline struct pbs *pbs_of(struct adapter *a)
{
    return (struct pbs *)a;
}

/* pbs_kind.c: calls go(arg), now or later, when `kind` is known or could not be found out. */
void pbs_kind_ready(struct pbs *pbs, void (*go)(void *arg), void *arg);

/* pbs_look.c: methods of struct batch_system. */
void pbs_list(struct adapter *a, struct batch_listing *listing);
int pbs_parse(struct batch_rows *rows, char *text, size_t size, struct error *err);
void pbs_past(struct adapter *a, const char *const *ids, size_t n, int64_t since, batch_look_cb *cb, void *arg);

/* pbs_pieces.c */
bool pbs_pieces_are_due(const struct pbs *pbs);
void pbs_pieces_begin(struct pbs *pbs, struct batch_listing *listing);
bool pbs_list_on(struct adapter *a, struct batch_listing *listing, const struct command_result *failed);

/* pbs_rows.c: rows from the attributes of qstat. */
struct batch_row *pbs_rows_add(struct batch_rows *rows, const char *id); /* begins a row, the last one */
/* sets an attribute of the last row */
void pbs_row_set(struct batch_rows *rows, const char *attribute, const char *value);
void pbs_rows_end(struct batch_rows *rows); /* the last row is whole: it is kept if the job is the daemon's */
void pbs_status(enum pbs_kind kind, const struct batch_row *row, struct adapter_status *status);

/* pbs_json.c, pbs_xml.c: read the output of qstat, and change the text; -1 if it is not whole. Callable from any
 * thread. */
int pbs_json_parse(struct batch_rows *rows, char *text, size_t size, struct error *err);
int pbs_xml_parse(struct batch_rows *rows, char *text, size_t size, struct error *err);

/* pbs_submit.c, pbs_orders.c, pbs_end.c: methods of struct batch_system. */
void pbs_send(struct batch_group *group);
void pbs_carry_out(struct adapter *a, enum batch_deed what, const char *const *ids, size_t n, batch_deed_cb *cb,
                   void *arg);
void pbs_withdraw(struct batch_order *order, const struct batch_row *row);

/* pbs_options.c */
extern const struct option_syntax pbs_options;
int pbs_check(struct adapter *a, const struct adapter_resources *want, struct error *err);
#endif
