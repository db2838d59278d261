/* The adapter for OAR 2.5, a plugin: it is built with the installed headers alone, like anybody else's. The part that
 * it shares with slurm and pbs is in <stretto/batch.h>. Jobs are submitted by oarsub, looked up by oarstat (one for
 * all), and ended by oardel.
 *
 * OAR only notes an order, and its server carries it out some seconds later: oardel and oarhold have had their effect
 * when the job is seen in another state (oar_end.c). OAR itself submits a job whose launch failed again, under the same
 * name, with a new id. */
#ifndef OAR_H
#define OAR_H
#include <stretto/batch.h>

enum oar_program { OAR_OARSUB, OAR_OARSTAT, OAR_OARDEL, OAR_OARHOLD };

/* The number of jobs that a list of oarstat must have at least. oarstat prints nothing if there are none, but also if
 * its question to the database fails. So the newest job of all users is asked for, too, which is there once any job has
 * been submitted. */
enum oar_rows { OAR_ROWS_MAY_BE_NONE, OAR_ROWS_SOME };

struct oar {
    struct adapter batch;
    const char *core, *gpu, *memory; /* the site's names of these resources; memory NULL: none */
    char *user;                      /* the user whose jobs are the daemon's; NULL: not known */
    char *listing;                   /* the condition of the listing, in SQL */
    bool has_jobs;                   /* OAR has had a job before */
    uv_timer_t timer;                /* oar_end.c: for orders that wait for the next look */
    struct oar_order *waiting;
};

static inline struct oar *oar_of(struct adapter *a)
{
    return (struct oar *)a;
}

/* oar_rows.c */
int oar_parse(struct batch_rows *rows, char *text, size_t size, struct error *err);
void oar_status(const struct adapter *a, const struct batch_row *row, struct adapter_status *status);
bool oar_is_held(const struct batch_row *row);       /* the job waits, and will not start */
bool oar_takes_signals(const struct batch_row *row); /* the job takes signals now */

/* oar_submit.c */
void oar_send(struct batch_group *group);
void oar_task_id(const char *id, int64_t task, char *out, size_t size);

/* oar_end.c */
void oar_carry_out(struct adapter *a, enum batch_deed deed, const char *const *ids, size_t n, batch_deed_cb *cb,
                   void *arg);
void oar_withdraw(struct batch_order *order, const struct batch_row *row);
void oar_orders_init(struct oar *oar);
void oar_orders_stop(struct oar *oar); /* called once the adapter is closing */

/* oar_options.c */
extern const struct option_syntax oar_options;
#endif
