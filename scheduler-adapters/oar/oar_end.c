/* Orders. OAR notes an order and carries it out some time later, so an order is done when the job is seen in another
 * state. The adapter checks again and again, with growing pauses, until then or until a command's time limit is over.
 * In the latter case the daemon gives the order again. A job that has been launched, but does not run yet, takes no
 * signal, so the signal is sent again.
 *
 * A waiting job is withdrawn by holding it first: a held job does not start, and a job that has begun meanwhile cannot
 * be held. */
#include "oar.h"

#include <stretto/xalloc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAUSE_MS 100
#define PAUSE_MAX_MS 5000
/* oardel prints this about a job that has not begun, and about one that has ended */
#define NOT_NOW "This job is not running"

static const char *const signals[BATCH_DEEDS] = {[BATCH_TERM] = "TERM", [BATCH_USR1] = "USR1", [BATCH_USR2] = "USR2"};

struct oar_order {
    struct oar_order *next;
    struct oar *oar;
    struct batch_order *withdrawal; /* the job is to be held for it; NULL: a deed, with `deed`, `cb` and `arg` */
    enum batch_deed deed;
    batch_deed_cb *cb;
    void *arg;
    char **ids; /* ids for which the order is not done */
    size_t n;
    uint64_t until, again; /* loop time */
    uint64_t pause_ms;
};

static void act(struct oar_order *o);

static void drop_id(struct oar_order *o, size_t i)
{
    free(o->ids[i]);
    o->ids[i] = o->ids[--o->n];
}

static void finish_oar_order(struct oar_order *o, const struct error *err)
{
    struct adapter *a = &o->oar->batch;

    if (o->withdrawal != NULL)
        batch_order_done(o->withdrawal, err != NULL ? ADAPTER_UNSURE : ADAPTER_OK, err != NULL ? err->code : NULL,
                         err != NULL ? err->text : NULL);
    else
        o->cb(o->arg, err);
    while (o->n > 0)
        drop_id(o, 0);
    free(o->ids);
    free(o);
    batch_idle(a);
}

static void fail_oar_order(struct oar_order *o, const char *why)
{
    struct error err;

    error_set(&err, "batch_system_unsure", "%s", why);
    finish_oar_order(o, &err);
}

static void oar_timer_rang(uv_timer_t *timer);

static void set_oar_timer(struct oar *oar)
{
    uint64_t now = uv_now(oar->batch.host.loop), first = UINT64_MAX;

    for (const struct oar_order *o = oar->waiting; o != NULL; o = o->next)
        first = o->again < first ? o->again : first;
    if (first != UINT64_MAX && !oar->batch.closing)
        uv_timer_start(&oar->timer, oar_timer_rang, first > now ? first - now : 0, 0);
}

static void wait_a_little(struct oar_order *o)
{
    struct oar *oar = o->oar;
    uint64_t now = uv_now(oar->batch.host.loop);

    if (oar->batch.closing) {
        fail_oar_order(o, "the daemon ends");
        return;
    }
    if (now >= o->until) {
        fail_oar_order(o, "OAR has taken the order down, but has not carried it out yet");
        return;
    }
    o->again = now + o->pause_ms;
    o->pause_ms = 2 * o->pause_ms < PAUSE_MAX_MS ? 2 * o->pause_ms : PAUSE_MAX_MS;
    o->next = oar->waiting;
    oar->waiting = o;
    set_oar_timer(oar);
}

static void oar_timer_rang(uv_timer_t *timer)
{
    struct oar *oar = timer->data;
    struct oar_order *list = oar->waiting, *next;
    uint64_t now = uv_now(oar->batch.host.loop);

    oar->waiting = NULL;
    for (struct oar_order *o = list; o != NULL; o = next) {
        next = o->next;
        if (o->again <= now) {
            act(o);
            continue;
        }
        o->next = oar->waiting;
        oar->waiting = o;
    }
    set_oar_timer(oar);
}

static const struct batch_row *find_row_of(const struct batch_rows *rows, const char *id)
{
    for (size_t i = 0; i < rows->n; i++)
        if (strcmp(rows->row[i].id, id) == 0)
            return &rows->row[i];
    return NULL;
}

static void oar_taken_out(void *arg, const struct error *err)
{
    struct batch_order *order = arg;

    batch_order_done(order, err != NULL ? ADAPTER_UNSURE : ADAPTER_OK, err != NULL ? err->code : NULL,
                     err != NULL ? err->text : NULL);
}

/* Goes on when the hold has had its effect: a held job can be taken out, by an order of its own. */
static void go_on_withdrawing(struct oar_order *o, const struct batch_row *row)
{
    struct batch_order *order = o->withdrawal;
    struct adapter *a = &o->oar->batch;

    if (row == NULL || row->phase != BATCH_WAITS) {
        finish_oar_order(o, NULL); /* it has begun, or is gone: it is left alone */
    } else if (oar_is_held(row)) {
        oar_carry_out(a, BATCH_TAKE_OUT, (const char *const *)o->ids, o->n, oar_taken_out, order);
        drop_id(o, 0);
        free(o->ids);
        free(o);
        batch_idle(a);
    } else {
        wait_a_little(o);
    }
}

static bool is_done(const struct oar_order *o, const struct batch_row *row)
{
    if (row == NULL)
        return true;
    return o->deed == BATCH_TAKE_OUT ? row->phase != BATCH_WAITS : row->phase != BATCH_RUNS || row->is_ending;
}

static void oar_order_looked(void *arg, const struct batch_rows *rows, const struct error *err)
{
    struct oar_order *o = arg;
    bool again = false;

    if (rows == NULL) {
        finish_oar_order(o, err);
        return;
    }
    if (o->withdrawal != NULL) {
        go_on_withdrawing(o, find_row_of(rows, o->ids[0]));
        return;
    }
    for (size_t i = o->n; i > 0; i--)
        if (is_done(o, find_row_of(rows, o->ids[i - 1])))
            drop_id(o, i - 1);
    for (size_t i = 0; i < o->n; i++)
        again = again || oar_takes_signals(find_row_of(rows, o->ids[i]));
    if (o->n == 0)
        finish_oar_order(o, NULL);
    else if (again && o->deed != BATCH_TAKE_OUT && uv_now(o->oar->batch.host.loop) < o->until)
        act(o);
    else
        wait_a_little(o);
}

/* Keeps only the jobs named in "Cannot signal 12 ; This job is not running.": the others got the signal. */
static void drop_signalled(struct oar_order *o, const char *said)
{
    char complaint[96];

    for (size_t i = o->n; i > 0; i--) {
        snprintf(complaint, sizeof complaint, "Cannot signal %.40s ; " NOT_NOW, o->ids[i - 1]);
        if (strstr(said, complaint) == NULL)
            drop_id(o, i - 1);
    }
}

/* Returns whether the command failed at most for jobs in another state, which are looked at afterwards. */
static bool is_fine(const struct command_result *result)
{
    static const char *const expected[] = {"This job was already killed", NOT_NOW, "the job is not in the right state",
                                           "this job does not exist", NULL};
    static const char *const unexpected[] = {
        "not the right user", "Cannot contact", "unknown error", "DBD::", "DBI ", NULL};

    return result->end == COMMAND_EXITED &&
           (result->status == 0 || (batch_says(result->err, expected) && !batch_says(result->err, unexpected)));
}

static void oar_ordered(void *arg, struct command_result *result)
{
    struct oar_order *o = arg;
    struct error err;

    if (!is_fine(result)) {
        batch_check(result, o->withdrawal != NULL ? "oarhold" : "oardel", &err);
        finish_oar_order(o, &err);
        return;
    }
    if (o->withdrawal == NULL && o->deed != BATCH_TAKE_OUT)
        drop_signalled(o, o->deed == BATCH_KILL ? "" : result->err);
    if (o->n == 0)
        finish_oar_order(o, NULL);
    else
        batch_look(&o->oar->batch, oar_order_looked, o);
}

/* Gives the order. oardel and oarhold are given once; a signal is given again to jobs that could not take it. */
static void act(struct oar_order *o)
{
    struct adapter *a = &o->oar->batch;
    const char **args;
    size_t n = 0;

    if (o->pause_ms > 0 && (o->withdrawal != NULL || o->deed == BATCH_TAKE_OUT)) {
        batch_look(a, oar_order_looked, o);
        return;
    }
    if (o->pause_ms == 0)
        o->pause_ms = PAUSE_MS;
    args = xcalloc(o->n + 3, sizeof *args);
    if (o->withdrawal == NULL && signals[o->deed] != NULL) {
        args[n++] = "-s";
        args[n++] = signals[o->deed];
    }
    memcpy(args + n, o->ids, o->n * sizeof *o->ids);
    batch_run(a, o->withdrawal == NULL && o->deed == BATCH_KILL ? a->questions : a->endings,
              o->withdrawal != NULL ? OAR_OARHOLD : OAR_OARDEL, args, NULL, BATCH_WORDS_MAX, oar_ordered, o);
    free(args);
}

static struct oar_order *oar_order_new(struct adapter *a, const char *const *ids, size_t n)
{
    struct oar_order *o = xcalloc(1, sizeof *o);

    *o = (struct oar_order){.oar = oar_of(a), .n = n, .until = uv_now(a->host.loop) + (uint64_t)a->timeout_ms};
    o->ids = xcalloc(n, sizeof *o->ids);
    for (size_t i = 0; i < n; i++)
        o->ids[i] = xstrdup(ids[i]);
    batch_busy(a);
    return o;
}

void oar_carry_out(struct adapter *a, enum batch_deed deed, const char *const *ids, size_t n, batch_deed_cb *cb,
                   void *arg)
{
    struct oar_order *o = oar_order_new(a, ids, n);

    o->deed = deed;
    o->cb = cb;
    o->arg = arg;
    act(o);
}

void oar_withdraw(struct batch_order *order, const struct batch_row *row)
{
    struct oar_order *o = oar_order_new(batch_order_adapter(order), &row->id, 1);

    o->withdrawal = order;
    act(o);
}

void oar_orders_init(struct oar *oar)
{
    uv_timer_init(oar->batch.host.loop, &oar->timer);
    oar->timer.data = &oar->batch;
}

void oar_orders_stop(struct oar *oar)
{
    struct oar_order *next;

    batch_closing(&oar->batch);
    uv_close((uv_handle_t *)&oar->timer, batch_closed);
    for (struct oar_order *o = oar->waiting; o != NULL; o = next) {
        next = o->next;
        fail_oar_order(o, "the daemon ends");
    }
    oar->waiting = NULL;
}
