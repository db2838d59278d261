/* The adapter for OAR 2.5, a plugin: built with the installed headers alone, as anybody else's is. What is shared with slurm and pbs is
 * in <stretto/batch.h>. Jobs are submitted by oarsub, looked up by oarstat (one for all), and ended by oardel.
 *
 * OAR takes orders down, and its server carries them out some seconds later: oardel and oarhold have done their work when the
 * job is seen to be in another state, and not before (oar_end.c). A job whose launch failed OAR itself submits again, under the same
 * name, with an id of its own. */
#ifndef OAR_H
#define OAR_H
#include <stretto/batch.h>

enum oar_program { OAR_OARSUB, OAR_OARSTAT, OAR_OARDEL, OAR_OARHOLD };

/* Which jobs there must be in what oarstat prints. It prints nothing where there are none, and nothing as well where its question to
 * the database fails: so the newest job of all is asked for, too, and is there once any has been submitted. */
enum oar_rows { OAR_ROWS_MAY_BE_NONE, OAR_ROWS_SOME };

struct oar {
    struct adapter batch;
    const char *core, *gpu, *memory; /* what the site calls these; memory NULL: it has no name for that */
    char *user;                      /* whose jobs are ours; NULL: not known */
    char *listing;                   /* what is asked for, in SQL */
    bool has_jobs;                   /* this OAR has had one */
    uv_timer_t timer;                /* oar_end.c: for those that wait to look again */
    struct oar_order *waiting;
};

static inline struct oar *oar_of(struct adapter *a)
{
    return (struct oar *)a;
}

/* oar_rows.c */
int oar_parse(struct batch_rows *rows, char *text, size_t size, struct error *err);
void oar_status(const struct adapter *a, const struct batch_row *row, struct adapter_status *status);
bool oar_is_held(const struct batch_row *row);      /* it waits, and will not start */
bool oar_takes_signals(const struct batch_row *row); /* now */

/* oar_submit.c */
void oar_send(struct batch_group *group);
void oar_task_id(const char *id, int64_t task, char *out, size_t size);

/* oar_end.c */
void oar_carry_out(struct adapter *a, enum batch_deed deed, const char *const *ids, size_t n, batch_deed_cb *cb, void *arg);
void oar_withdraw(struct batch_order *order, const struct batch_row *row);
void oar_orders_init(struct oar *oar);
void oar_orders_stop(struct oar *oar); /* once the adapter is closing */
#endif
