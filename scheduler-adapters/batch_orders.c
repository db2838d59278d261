/* Orders about jobs: cancel, signal, withdraw. Each first looks the job up, so that no order goes to an id that by now
 * belongs to another job. Orders that come meanwhile wait for the next listing and share it, and orders of a kind share
 * their commands.
 *
 * A running job is ended by SIGTERM to its runner. That gives the tasks their grace, which may be longer than the
 * site's, and leaves records of how they ended. A job that does not end in time is killed (batch_overdue.c).
 *
 * Of jobs that are cancelled together the waiting ones go first, since the end of a running one would start them. All
 * orders of one turn of the loop share a listing, and no runner is signalled while waiting jobs are being taken out. If
 * one of those cannot be taken out, no runner is signalled either, and the orders are given again. The third time in a
 * row, however, the runners are signalled all the same, since something else must be wrong with the job that stays. */
#include "scheduler-adapters/batch.h"

#include "common/xalloc.h"
#include "scheduler-adapters/batch_known.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAYS_MAX 3 /* rounds of orders in a row in which waiting jobs could not be taken out */

enum kind { ORDER_CANCEL, ORDER_WITHDRAW, ORDER_SIGNAL };

struct batch_order {
    struct batch_order *next;
    struct adapter *a;
    enum kind kind;
    char name[64], id[64]; /* id: of the job to be withdrawn */
    int sig;
    int64_t grace_ms;
    adapter_done_cb *cb;
    void *arg;
    size_t left; /* commands under way for it */
    enum adapter_answer answer;
    struct error err;
};

/* One deed for the ids of several orders. */
struct batch_bundle {
    struct batch_bundle *next; /* in the list of those that are held back */
    struct adapter *a;
    enum batch_deed deed;
    size_t n;
    struct {
        struct batch_order *order;
        char id[64];
    } item[];
};

struct bundles {
    struct adapter *a;
    struct batch_bundle *of[BATCH_DEEDS];
};

static void look_for_orders(struct adapter *a);

static void batch_poke(void *arg)
{
    struct adapter *a = arg;

    if (!a->closing)
        a->host.poke(a->host.arg);
}

static void order_done(struct batch_order *order)
{
    struct adapter *a = order->a;

    answers_done(a->answers, order->cb, order->arg, order->answer, &order->err);
    if (order->answer == ADAPTER_OK && order->kind == ORDER_CANCEL)
        answers_call(a->answers, batch_poke, a);
    free(order);
    batch_idle(a);
}

void batch_order_done(struct batch_order *order, enum adapter_answer answer, const char *code, const char *why)
{
    order->answer = answer;
    if (answer != ADAPTER_OK)
        error_set(&order->err, code, "%s", why);
    order_done(order);
}

struct adapter *batch_order_adapter(const struct batch_order *order)
{
    return order->a;
}

const char *batch_order_id(const struct batch_order *order)
{
    return order->id;
}

const struct batch_row *batch_order_row(const struct batch_order *order, const struct batch_rows *rows)
{
    size_t n;
    const struct batch_row *row = batch_rows_find(rows, order->name, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(row[i].id, order->id) == 0)
            return &row[i];
    return NULL;
}

static void release_order(struct batch_order *order)
{
    if (--order->left == 0)
        order_done(order);
}

static void send_held(struct adapter *a, const struct error *stays);

static void note_taken_out(struct adapter *a, const struct error *err)
{
    a->orders.taking_out--;
    if (err != NULL)
        a->orders.stays = *err;
    if (a->orders.taking_out > 0)
        return;
    a->orders.stayed = a->orders.stays.text[0] != '\0' ? a->orders.stayed + 1 : 0;
    send_held(a, a->orders.stayed % STAYS_MAX != 0 ? &a->orders.stays : NULL);
    a->orders.stays.text[0] = '\0';
}

static void bundle_done(void *arg, const struct error *err)
{
    struct batch_bundle *bundle = arg;
    struct adapter *a = bundle->a;

    for (size_t i = 0; i < bundle->n; i++) {
        struct batch_order *order = bundle->item[i].order;
        struct batch_known *known = batch_known_find(a, order->name);

        if (err != NULL) {
            order->answer = ADAPTER_UNSURE;
            order->err = *err;
        } else if (bundle->deed == BATCH_TAKE_OUT && known != NULL) {
            known->never_began = true;
        }
        release_order(order);
    }
    if (bundle->deed == BATCH_TAKE_OUT)
        note_taken_out(a, err);
    free(bundle);
    batch_idle(a);
}

static struct batch_bundle *bundle_new(struct adapter *a, enum batch_deed deed)
{
    struct batch_bundle *bundle = xcalloc(1, sizeof *bundle + a->system->ids_max * sizeof *bundle->item);

    bundle->a = a;
    bundle->deed = deed;
    return bundle;
}

static void bundle_send(struct batch_bundle *bundle)
{
    const char **ids = xcalloc(bundle->n, sizeof *ids);

    for (size_t i = 0; i < bundle->n; i++)
        ids[i] = bundle->item[i].id;
    bundle->a->orders.taking_out += bundle->deed == BATCH_TAKE_OUT;
    batch_busy(bundle->a);
    batch_carry_out(bundle->a, bundle->deed, false, ids, bundle->n, bundle_done, bundle);
    free(ids);
}

/* Signals the runners that were held back; `stays`: they are not signalled, since a waiting job could not be taken out,
 * or NULL. */
static void send_held(struct adapter *a, const struct error *stays)
{
    struct batch_bundle *list = a->orders.held, *next;

    a->orders.held = NULL;
    for (; list != NULL; list = next) {
        next = list->next;
        if (stays != NULL) {
            batch_busy(a);
            bundle_done(list, stays);
            continue;
        }
        for (size_t i = 0; i < list->n; i++)
            batch_overdue_add(a, list->item[i].order->name, list->item[i].order->grace_ms);
        bundle_send(list);
    }
}

/* Sends the bundle, or holds it back until the waiting jobs are taken out. */
static void bundle_finish(struct batch_bundle *bundle)
{
    struct batch_bundle **last = &bundle->a->orders.held;

    if (bundle->deed != BATCH_TERM) {
        bundle_send(bundle);
        return;
    }
    while (*last != NULL)
        last = &(*last)->next;
    *last = bundle;
}

static void bundles_add(struct bundles *to, enum batch_deed deed, struct batch_order *order, const char *id)
{
    struct batch_bundle **at = &to->of[deed], *bundle;

    if (*at == NULL)
        *at = bundle_new(to->a, deed);
    bundle = *at;
    snprintf(bundle->item[bundle->n].id, sizeof bundle->item->id, "%s", id);
    bundle->item[bundle->n++].order = order;
    order->left++;
    if (bundle->n < to->a->system->ids_max)
        return;
    bundle_finish(bundle);
    *at = NULL;
}

static void cancel_rows(struct batch_order *order, const struct batch_row *row, size_t n, struct bundles *to)
{
    for (size_t i = 0; i < n; i++) {
        if (row[i].phase == BATCH_WAITS)
            bundles_add(to, BATCH_TAKE_OUT, order, row[i].id);
        else if (row[i].phase == BATCH_RUNS && !row[i].is_ending)
            bundles_add(to, BATCH_TERM, order, row[i].id);
    }
    if (order->left == 0) /* the job is gone */
        batch_order_done(order, ADAPTER_OK, NULL, NULL);
}

static void send_signal(struct batch_order *order, const struct batch_row *row, size_t n, struct bundles *to)
{
    if (n > 0 && row->phase == BATCH_WAITS)
        batch_order_done(order, ADAPTER_UNSURE, "job_not_started", "it has not started yet");
    else if (n == 0 || row->phase == BATCH_OVER)
        batch_order_done(order, ADAPTER_REFUSED, "job_ended", "there is no such job any more");
    else
        bundles_add(to, order->sig == SIGUSR1 ? BATCH_USR1 : BATCH_USR2, order, row->id);
}

static void withdraw_order(struct batch_order *order, const struct batch_rows *rows)
{
    const struct batch_row *row = batch_order_row(order, rows);

    if (row == NULL || row->phase != BATCH_WAITS)
        batch_order_done(order, ADAPTER_OK, NULL, NULL);
    else
        order->a->system->withdraw(order, row);
}

static void orders_looked_up(void *arg, const struct batch_rows *rows, const struct error *err)
{
    struct adapter *a = arg;
    struct batch_order *list = a->orders.taken, *next;
    struct bundles to = {.a = a};
    size_t n;

    a->orders.taken = NULL;
    if (a->orders.waiting != NULL)
        look_for_orders(a);
    for (; list != NULL; list = next) {
        const struct batch_row *row = rows != NULL ? batch_rows_find(rows, list->name, &n) : NULL;

        next = list->next;
        if (rows == NULL)
            batch_order_done(list, ADAPTER_UNSURE, err->code, err->text);
        else if (list->kind == ORDER_WITHDRAW)
            withdraw_order(list, rows);
        else if (list->kind == ORDER_SIGNAL)
            send_signal(list, row, n, &to);
        else
            cancel_rows(list, row, n, &to);
    }
    for (int deed = 0; deed < BATCH_DEEDS; deed++)
        if (to.of[deed] != NULL)
            bundle_finish(to.of[deed]);
    if (a->orders.taking_out == 0)
        send_held(a, NULL);
    batch_idle(a);
}

/* Looks all jobs up whose orders were given before the listing begins: later orders wait for the next one. */
static void look_for_orders(struct adapter *a)
{
    a->orders.taken = a->orders.waiting;
    a->orders.waiting = NULL;
    batch_busy(a);
    batch_look(a, orders_looked_up, a);
}

static void look_now(void *arg)
{
    struct adapter *a = arg;

    a->orders.look_is_due = false;
    if (a->orders.taken == NULL && a->orders.waiting != NULL)
        look_for_orders(a);
}

static struct batch_order *batch_order_new(struct adapter *a, enum kind kind, const char *name, adapter_done_cb *cb,
                                           void *arg)
{
    struct batch_order *order = xcalloc(1, sizeof *order);

    *order = (struct batch_order){.a = a, .kind = kind, .cb = cb, .arg = arg, .answer = ADAPTER_OK};
    snprintf(order->name, sizeof order->name, "%s", name);
    return order;
}

static void give_order(struct batch_order *order)
{
    struct adapter *a = order->a;

    batch_busy(a);
    order->next = a->orders.waiting;
    a->orders.waiting = order;
    if (a->orders.taken != NULL || a->orders.look_is_due)
        return;
    a->orders.look_is_due = true;
    answers_call(a->answers, look_now, a);
}

void batch_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg)
{
    struct batch_order *order = batch_order_new(a, ORDER_CANCEL, job->name, cb, arg);

    order->grace_ms = job->grace_ms;
    give_order(order);
}

void batch_withdraw(struct adapter *a, const char *name, const char *scheduler_id, adapter_done_cb *cb, void *arg)
{
    struct batch_order *order = batch_order_new(a, ORDER_WITHDRAW, name, cb, arg);

    snprintf(order->id, sizeof order->id, "%s", scheduler_id);
    give_order(order);
}

void batch_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg)
{
    struct batch_order *order;
    struct error err;

    if (sig != SIGUSR1 && sig != SIGUSR2) {
        error_set(&err, "signal_refused", "only SIGUSR1 and SIGUSR2 can be sent");
        answers_done(a->answers, cb, arg, ADAPTER_REFUSED, &err);
        return;
    }
    order = batch_order_new(a, ORDER_SIGNAL, job->name, cb, arg);
    order->sig = sig;
    give_order(order);
}
