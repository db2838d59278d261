/* Orders about jobs: cancel, signal, withdraw. Each first looks the job up, so that no order goes to an id that is another's by
 * now; orders that come meanwhile wait, and share the next listing, and those of a kind share their commands.
 *
 * A running job is ended by way of its runner, by SIGTERM to its session (qsig): that gives the tasks their grace, which may be
 * longer than the server's kill_delay, and writes down how they ended. One that does not end in time is deleted (pbs_overdue.c).
 *
 * Of those that are cancelled together the waiting ones go first, or the end of a running one would start them: all orders of one
 * turn of the loop share a listing, and the commands are run one after another. */
#include "scheduler-adapters/pbs.h"

#include "common/xalloc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDS_MAX 100 /* of one command, which takes them one by one */

enum kind { ORDER_CANCEL, ORDER_WITHDRAW, ORDER_SIGNAL };

struct pbs_order {
    struct pbs_order *next;
    struct adapter *a;
    enum kind kind;
    char name[64], id[64]; /* id: of the one to be withdrawn */
    int sig;
    int64_t grace_ms;
    adapter_done_cb *cb;
    void *arg;
    size_t left; /* commands under way for it */
    enum adapter_answer answer;
    struct error err;
};

/* One command for several orders: the orders of its ids. */
struct batch {
    struct adapter *a;
    enum pbs_program program;
    const char *sig; /* of qsig */
    const char *words[IDS_MAX + 3];
    size_t n_ids;
    struct pbs_order *order[IDS_MAX];
    char ids[IDS_MAX][64];
};

static void look(struct adapter *a);

static void done(struct pbs_order *order)
{
    struct adapter *a = order->a;

    answers_done(a->answers, order->cb, order->arg, order->answer, &order->err);
    if (order->answer == ADAPTER_OK && order->kind != ORDER_SIGNAL)
        pbs_poke(a);
    free(order);
    pbs_idle(a);
}

static void done_as(struct pbs_order *order, enum adapter_answer answer, const char *code, const char *why)
{
    order->answer = answer;
    if (answer != ADAPTER_OK)
        error_set(&order->err, code, "%s", why);
    done(order);
}

static void release(struct pbs_order *order)
{
    if (--order->left == 0)
        done(order);
}

/* A line for each id with which something is wrong. These have ended meanwhile, or are about to. */
static bool only_gone(const struct command_result *result)
{
    char *copy = xstrdup(result->err), *rest = NULL;
    bool only = result->end == COMMAND_EXITED && copy[0] != '\0';

    for (char *line = strtok_r(copy, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        only = only && (strstr(line, "Unknown Job Id") != NULL || strstr(line, "invalid for state of job") != NULL ||
                        strstr(line, "Job has finished") != NULL || strstr(line, "already in exit state") != NULL ||
                        strstr(line, "Delete already in progress") != NULL);
    free(copy);
    return only;
}

static void batch_done(void *arg, struct command_result *result)
{
    struct batch *batch = arg;
    struct adapter *a = batch->a;
    struct error err = {0};
    bool fine = pbs_check(result, batch->program == PBS_QDEL ? "qdel" : "qsig", &err) == 0 || only_gone(result);

    for (size_t i = 0; i < batch->n_ids; i++) {
        struct pbs_known *known = pbs_known_find(a, batch->order[i]->name);

        if (!fine) {
            batch->order[i]->answer = ADAPTER_UNSURE;
            batch->order[i]->err = err;
        } else if (batch->program == PBS_QDEL && known != NULL) {
            known->never_began = true; /* only those that wait are deleted here */
        }
        release(batch->order[i]);
    }
    free(batch);
    pbs_idle(a);
}

static void batch_send(struct batch *batch)
{
    size_t n = 0;

    if (batch == NULL)
        return;
    if (batch->sig != NULL) {
        batch->words[n++] = "-s";
        batch->words[n++] = batch->sig;
    }
    for (size_t i = 0; i < batch->n_ids; i++)
        batch->words[n++] = batch->ids[i];
    batch->words[n] = NULL;
    pbs_busy(batch->a);
    pbs_run(batch->a, batch->a->endings, batch->program, batch->words, NULL, PBS_WORDS_MAX, batch_done, batch);
}

/* `to` is the batch to go on with, NULL where none is begun. */
static void batch_add(struct batch **to, enum pbs_program program, const char *sig, struct pbs_order *order, const char *id)
{
    struct batch *batch = *to;

    if (batch != NULL && batch->n_ids == IDS_MAX) {
        batch_send(batch);
        batch = NULL;
    }
    if (batch == NULL) {
        batch = *to = xcalloc(1, sizeof *batch);
        batch->a = order->a;
        batch->program = program;
        batch->sig = sig;
    }
    snprintf(batch->ids[batch->n_ids], sizeof batch->ids[0], "%s", id);
    batch->order[batch->n_ids++] = order;
    order->left++;
}

/* --- withdraw: held first, and looked at again, since deleting would end one that has begun meanwhile */

static const struct pbs_row *row_of_id(const struct pbs_rows *rows, const struct pbs_order *order)
{
    size_t n;
    const struct pbs_row *row = pbs_rows_find(rows, order->name, &n);

    for (size_t i = 0; row != NULL && i < n; i++)
        if (strcmp(row[i].id, order->id) == 0)
            return &row[i];
    return NULL;
}

static void withdrawn(void *arg, struct command_result *result)
{
    struct pbs_order *order = arg;
    struct error err;

    if (pbs_check(result, "qdel", &err) < 0 && !only_gone(result))
        done_as(order, ADAPTER_UNSURE, err.code, err.text);
    else
        done_as(order, ADAPTER_OK, NULL, NULL);
}

static void delete_or_let_go(void *arg, const struct pbs_rows *rows, const struct error *err)
{
    struct pbs_order *order = arg;
    const char *const args[] = {order->id, NULL};
    const struct pbs_row *row = rows != NULL ? row_of_id(rows, order) : NULL;

    if (rows == NULL)
        done_as(order, ADAPTER_UNSURE, err->code, err->text);
    else if (row == NULL || row->phase == PBS_OVER)
        done_as(order, ADAPTER_OK, NULL, NULL);
    else
        pbs_run(order->a, order->a->endings, row->phase == PBS_WAITS ? PBS_QDEL : PBS_QRLS, args, NULL, PBS_WORDS_MAX, withdrawn,
                order);
}

static void held(void *arg, struct command_result *result)
{
    struct pbs_order *order = arg;
    struct error err;

    if (pbs_check(result, "qhold", &err) == 0)
        pbs_look(order->a, delete_or_let_go, order);
    else if (only_gone(result))
        done_as(order, ADAPTER_OK, NULL, NULL);
    else
        done_as(order, ADAPTER_UNSURE, err.code, err.text);
}

static void withdraw(struct pbs_order *order, const struct pbs_rows *rows)
{
    const struct pbs_row *row = row_of_id(rows, order);
    const char *const args[] = {order->id, NULL};

    if (row == NULL || row->phase != PBS_WAITS)
        done_as(order, ADAPTER_OK, NULL, NULL);
    else
        pbs_run(order->a, order->a->endings, PBS_QHOLD, args, NULL, PBS_WORDS_MAX, held, order);
}

/* --- cancel, signal */

struct batches {
    struct batch *qdel, *term, *usr1, *usr2;
};

static void cancel(struct pbs_order *order, const struct pbs_row *row, size_t n, struct batches *to)
{
    bool is_asked = false;

    for (size_t i = 0; i < n; i++) {
        if (row[i].phase == PBS_WAITS) {
            batch_add(&to->qdel, PBS_QDEL, NULL, order, row[i].id);
        } else if (row[i].phase == PBS_RUNS && row[i].state != 'E') {
            batch_add(&to->term, PBS_QSIG, "TERM", order, row[i].id);
            is_asked = true;
        }
    }
    if (is_asked)
        pbs_note_overdue(order->a, order->name, order->grace_ms);
    if (order->left == 0) /* it is gone */
        done_as(order, ADAPTER_OK, NULL, NULL);
}

static void send_signal(struct pbs_order *order, const struct pbs_row *row, size_t n, struct batches *to)
{
    if (n > 0 && row->phase == PBS_WAITS)
        done_as(order, ADAPTER_UNSURE, "job_not_started", "it has not started yet");
    else if (n == 0 || row->phase == PBS_OVER)
        done_as(order, ADAPTER_REFUSED, "job_ended", "there is no such job any more");
    else if (order->sig == SIGUSR1)
        batch_add(&to->usr1, PBS_QSIG, "USR1", order, row->id);
    else
        batch_add(&to->usr2, PBS_QSIG, "USR2", order, row->id);
}

static void looked(void *arg, const struct pbs_rows *rows, const struct error *err)
{
    struct adapter *a = arg;
    struct pbs_order *list = a->taken, *next;
    struct batches to = {0};
    size_t n;

    a->taken = NULL;
    if (a->orders != NULL)
        look(a);
    for (; list != NULL; list = next) {
        const struct pbs_row *row = NULL;

        next = list->next;
        n = 0;
        if (rows == NULL) {
            done_as(list, ADAPTER_UNSURE, err->code, err->text);
            continue;
        }
        row = pbs_rows_find(rows, list->name, &n);
        if (list->kind == ORDER_WITHDRAW)
            withdraw(list, rows);
        else if (list->kind == ORDER_SIGNAL)
            send_signal(list, row, n, &to);
        else
            cancel(list, row, n, &to);
    }
    batch_send(to.qdel);
    batch_send(to.term);
    batch_send(to.usr1);
    batch_send(to.usr2);
    pbs_idle(a);
}

/* All that were given before the listing begins: others wait for the next. */
static void look(struct adapter *a)
{
    a->taken = a->orders;
    a->orders = NULL;
    pbs_busy(a);
    pbs_look(a, looked, a);
}

static void look_now(void *arg)
{
    struct adapter *a = arg;

    a->look_is_due = false;
    if (a->taken == NULL && a->orders != NULL)
        look(a);
}

static struct pbs_order *order_new(struct adapter *a, enum kind kind, const char *name, adapter_done_cb *cb, void *arg)
{
    struct pbs_order *order = xcalloc(1, sizeof *order);

    *order = (struct pbs_order){.a = a, .kind = kind, .cb = cb, .arg = arg, .answer = ADAPTER_OK};
    snprintf(order->name, sizeof order->name, "%s", name);
    return order;
}

static void give(struct pbs_order *order)
{
    struct adapter *a = order->a;

    pbs_busy(a);
    order->next = a->orders;
    a->orders = order;
    if (a->taken != NULL || a->look_is_due)
        return;
    a->look_is_due = true;
    answers_call(a->answers, look_now, a);
}

void pbs_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg)
{
    struct pbs_order *order = order_new(a, ORDER_CANCEL, job->name, cb, arg);

    order->grace_ms = job->grace_ms;
    give(order);
}

void pbs_withdraw(struct adapter *a, const char *name, const char *scheduler_id, adapter_done_cb *cb, void *arg)
{
    struct pbs_order *order = order_new(a, ORDER_WITHDRAW, name, cb, arg);

    snprintf(order->id, sizeof order->id, "%s", scheduler_id);
    give(order);
}

void pbs_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg)
{
    struct pbs_order *order;
    struct error err;

    if (sig != SIGUSR1 && sig != SIGUSR2) {
        error_set(&err, "signal_refused", "only SIGUSR1 and SIGUSR2 can be sent");
        answers_done(a->answers, cb, arg, ADAPTER_REFUSED, &err);
        return;
    }
    order = order_new(a, ORDER_SIGNAL, job->name, cb, arg);
    order->sig = sig;
    give(order);
}
