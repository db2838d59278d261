/* Orders about jobs: cancel, signal, withdraw. Each first looks the job up, so that no order goes to an id that is another's by
 * now; orders that come meanwhile wait, and share the next listing, and cancels share their commands.
 *
 * A running job is ended by way of its runner, by SIGTERM to the batch script that became it: that gives the tasks their grace,
 * which may be longer than the site's KillWait, and writes down how they ended. One that does not end in time has its job killed
 * by Slurm (slurm_overdue.c). */
#include "scheduler-adapters/slurm.h"

#include "common/xalloc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDS_MAX 500           /* of one scancel */

enum kind { ORDER_CANCEL, ORDER_WITHDRAW, ORDER_SIGNAL };

struct slurm_order {
    struct slurm_order *next;
    struct adapter *a;
    enum kind kind;
    char name[64], id[64], label[64]; /* id: of the one to be withdrawn, label: what it is named in Slurm */
    int sig;
    int64_t grace_ms;
    adapter_done_cb *cb;
    void *arg;
    size_t left; /* commands under way for it */
    enum adapter_answer answer;
    struct error err;
};

/* One scancel for several orders: the orders of its ids. */
struct batch {
    struct adapter *a;
    const char **words; /* before the ids, then those */
    size_t n_words, n_ids;
    struct slurm_order *order[IDS_MAX];
    char ids[IDS_MAX][24];
    bool lenient; /* what has ended, or starts, is fine */
};

static void look(struct adapter *a);

static void done(struct slurm_order *order)
{
    struct adapter *a = order->a;

    answers_done(a->answers, order->cb, order->arg, order->answer, &order->err);
    if (order->answer == ADAPTER_OK && order->kind != ORDER_SIGNAL)
        slurm_poke(a);
    free(order);
    slurm_idle(a);
}

static void done_as(struct slurm_order *order, enum adapter_answer answer, const char *code, const char *why)
{
    order->answer = answer;
    if (answer != ADAPTER_OK)
        error_set(&order->err, code, "%s", why);
    done(order);
}

static void release(struct slurm_order *order)
{
    if (--order->left == 0)
        done(order);
}

/* scancel says for each id what is wrong with it, and nothing of the others. */
static bool only_gone(const char *said)
{
    char *copy = xstrdup(said), *rest = NULL;
    bool only = copy[0] != '\0';

    for (char *line = strtok_r(copy, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        only = only && (strstr(line, "Invalid job id") != NULL || strstr(line, "already completing") != NULL ||
                        strstr(line, "already finished") != NULL);
    free(copy);
    return only;
}

static void cancelled(void *arg, struct command_result *result)
{
    struct batch *batch = arg;
    struct adapter *a = batch->a;
    struct error err = {0};
    bool fine = slurm_check(result, "scancel", &err) == 0 || (result->end == COMMAND_EXITED && only_gone(result->err));

    for (size_t i = 0; i < batch->n_ids; i++) {
        if (!fine) {
            batch->order[i]->answer = ADAPTER_UNSURE;
            batch->order[i]->err = err;
        }
        release(batch->order[i]);
    }
    free(batch->words);
    free(batch);
    slurm_idle(a);
}

static struct batch *batch_new(struct adapter *a, const char *const *words)
{
    struct batch *batch = xcalloc(1, sizeof *batch);

    batch->a = a;
    batch->words = xcalloc(IDS_MAX + 8, sizeof *batch->words);
    while (words[batch->n_words] != NULL) {
        batch->words[batch->n_words] = words[batch->n_words];
        batch->n_words++;
    }
    return batch;
}

static void batch_send(struct batch *batch)
{
    if (batch->n_ids == 0) {
        free(batch->words);
        free(batch);
        return;
    }
    slurm_busy(batch->a);
    slurm_run(batch->a, batch->a->questions, SLURM_SCANCEL, batch->words, SLURM_WORDS_MAX, cancelled, batch);
}

/* The batch to go on with. */
static struct batch *batch_add(struct batch *batch, const char *const *words, struct slurm_order *order, const char *id)
{
    if (batch->n_ids == IDS_MAX) {
        struct adapter *a = batch->a;

        batch_send(batch);
        batch = batch_new(a, words);
    }
    snprintf(batch->ids[batch->n_ids], sizeof batch->ids[0], "%s", id);
    batch->words[batch->n_words + batch->n_ids] = batch->ids[batch->n_ids];
    batch->order[batch->n_ids++] = order;
    order->left++;
    return batch;
}

static void withdraw_step(void *arg, struct command_result *result);

/* Held first: one that has not started cannot any more, and what is cancelled then has not. And a scancel that looks at the state
 * would take a whole array that waits for the one task of it that it was given, had holding the task not made it a job of its own. */
static void withdraw(struct slurm_order *order, const struct slurm_row *row, size_t n)
{
    const char *const args[] = {"hold", order->id, NULL};

    for (size_t i = 0; i < n; i++)
        if (strcmp(row[i].id, order->id) == 0 && row[i].phase == SLURM_WAITS) {
            snprintf(order->label, sizeof order->label, "%s", row[i].label);
            slurm_run(order->a, order->a->questions, SLURM_SCONTROL, args, SLURM_WORDS_MAX, withdraw_step, order);
            return;
        }
    done_as(order, ADAPTER_OK, NULL, NULL);
}

static void withdrawn(void *arg, struct command_result *result)
{
    struct slurm_order *order = arg;
    struct error err;

    if (slurm_check(result, "scancel", &err) < 0 && !only_gone(result->err))
        done_as(order, ADAPTER_UNSURE, err.code, err.text);
    else
        done_as(order, ADAPTER_OK, NULL, NULL);
}

static void withdraw_step(void *arg, struct command_result *result)
{
    struct slurm_order *order = arg;
    char name[96];
    const char *const args[] = {"--state=PENDING", name, order->id, NULL};
    struct error err;

    snprintf(name, sizeof name, "--name=%s", order->label);
    if (slurm_check(result, "scontrol", &err) == 0)
        slurm_run(order->a, order->a->questions, SLURM_SCANCEL, args, SLURM_WORDS_MAX, withdrawn, order);
    else if (result->end == COMMAND_EXITED && strstr(result->err, "ontact") == NULL && strstr(result->err, "timed out") == NULL)
        done_as(order, ADAPTER_OK, NULL, NULL); /* it has started, or is gone: it is left alone */
    else
        done_as(order, ADAPTER_UNSURE, err.code, err.text);
}

static const char *const cancel_words[] = {NULL};
static const char *const end_words[] = {"--batch", "--signal=TERM", NULL};
static const char *const usr1_words[] = {"--batch", "--signal=USR1", NULL};
static const char *const usr2_words[] = {"--batch", "--signal=USR2", NULL};

struct batches {
    struct batch *cancel, *end, *usr1, *usr2;
};

static void cancel(struct slurm_order *order, const struct slurm_row *row, size_t n, struct batches *to)
{
    bool is_asked = false;

    for (size_t i = 0; i < n; i++) {
        if (row[i].phase == SLURM_WAITS) {
            to->cancel = batch_add(to->cancel, cancel_words, order, row[i].id);
        } else if (row[i].phase == SLURM_RUNS && strcmp(row[i].state, "COMPLETING") != 0) {
            to->end = batch_add(to->end, end_words, order, row[i].id);
            is_asked = true;
        }
    }
    if (is_asked)
        slurm_note_overdue(order->a, order->name, order->grace_ms);
    if (order->left == 0) /* it is gone */
        done_as(order, ADAPTER_OK, NULL, NULL);
}

static void send_signal(struct slurm_order *order, const struct slurm_row *row, size_t n, struct batches *to)
{
    if (n > 0 && row->phase == SLURM_WAITS)
        done_as(order, ADAPTER_UNSURE, "job_not_started", "it has not started yet");
    else if (n == 0 || row->phase == SLURM_OVER)
        done_as(order, ADAPTER_REFUSED, "job_ended", "there is no such job any more");
    else if (order->sig == SIGUSR1)
        to->usr1 = batch_add(to->usr1, usr1_words, order, row->id);
    else
        to->usr2 = batch_add(to->usr2, usr2_words, order, row->id);
}

static void looked(void *arg, const struct slurm_rows *rows, const struct error *err)
{
    struct adapter *a = arg;
    struct slurm_order *list = a->taken, *next;
    struct batches to;
    size_t n;

    a->taken = NULL;
    if (a->orders != NULL)
        look(a);
    to = (struct batches){batch_new(a, cancel_words), batch_new(a, end_words), batch_new(a, usr1_words),
                          batch_new(a, usr2_words)};
    for (; list != NULL; list = next) {
        const struct slurm_row *row = rows != NULL ? slurm_rows_find(rows, list->name, &n) : NULL;

        next = list->next;
        if (rows == NULL)
            done_as(list, ADAPTER_UNSURE, err->code, err->text);
        else if (list->kind == ORDER_WITHDRAW)
            withdraw(list, row, row != NULL ? n : 0);
        else if (list->kind == ORDER_SIGNAL)
            send_signal(list, row, row != NULL ? n : 0, &to);
        else
            cancel(list, row, row != NULL ? n : 0, &to);
    }
    batch_send(to.cancel);
    batch_send(to.end);
    batch_send(to.usr1);
    batch_send(to.usr2);
    slurm_idle(a);
}

/* All that were given before the listing begins: others wait for the next. */
static void look(struct adapter *a)
{
    a->taken = a->orders;
    a->orders = NULL;
    slurm_busy(a);
    slurm_look(a, looked, a);
}

static struct slurm_order *order_new(struct adapter *a, enum kind kind, const char *name, adapter_done_cb *cb, void *arg)
{
    struct slurm_order *order = xcalloc(1, sizeof *order);

    *order = (struct slurm_order){.a = a, .kind = kind, .cb = cb, .arg = arg, .answer = ADAPTER_OK};
    snprintf(order->name, sizeof order->name, "%s", name);
    return order;
}

static void give(struct slurm_order *order)
{
    struct adapter *a = order->a;

    slurm_busy(a);
    order->next = a->orders;
    a->orders = order;
    if (a->taken == NULL)
        look(a);
}

void slurm_cancel(struct adapter *a, const struct adapter_job *job, adapter_done_cb *cb, void *arg)
{
    struct slurm_order *order = order_new(a, ORDER_CANCEL, job->name, cb, arg);

    order->grace_ms = job->grace_ms;
    give(order);
}

void slurm_withdraw(struct adapter *a, const char *name, const char *scheduler_id, adapter_done_cb *cb, void *arg)
{
    struct slurm_order *order = order_new(a, ORDER_WITHDRAW, name, cb, arg);

    snprintf(order->id, sizeof order->id, "%s", scheduler_id);
    give(order);
}

void slurm_signal(struct adapter *a, const struct adapter_job *job, int sig, adapter_done_cb *cb, void *arg)
{
    struct slurm_order *order;
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
