/* Takes a waiting job out of the queue. The job is held first: it then cannot start any more, and a cancel certainly
 * finds it not started. Holding also makes a task of an array a job of its own. Without that, a scancel for a given
 * state would cancel the whole array if all of it waits. */
#include "scheduler-adapters/slurm.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define HELD "launch failed requeued held" /* Slurm has put the job back by itself, and will not start it again */

const char *const slurm_gone[] = {"Invalid job id", "already completing", "already finished", NULL};

static void ignore_answer(void *arg, enum adapter_answer answer, const struct error *err)
{
}

/* Withdraws a job whose launch failed because of a faulty node. It is then over, and the daemon starts it again. */
void slurm_waits(struct adapter *a, const struct batch_row *row)
{
    if (strcmp(row->reason, HELD) != 0)
        return;
    a->host.log(a->host.arg, ADAPTER_LOG_WARN, row->name, "Slurm says: " HELD "; it is taken out of the queue");
    batch_withdraw(a, row->name, row->id, ignore_answer, NULL);
}

struct slurm_withdrawal {
    struct batch_order *order;
    char *name; /* option --name with the job's name in Slurm */
};

static void finish_slurm_withdrawal(struct slurm_withdrawal *w, enum adapter_answer answer, const struct error *err)
{
    batch_order_done(w->order, answer, err != NULL ? err->code : NULL, err != NULL ? err->text : NULL);
    free(w->name);
    free(w);
}

static void slurm_withdrawn(void *arg, struct command_result *result)
{
    struct slurm_withdrawal *w = arg;
    struct error err;

    if (batch_check(result, "scancel", &err) < 0 && !batch_only_gone(batch_order_adapter(w->order), result))
        finish_slurm_withdrawal(w, ADAPTER_UNSURE, &err);
    else
        finish_slurm_withdrawal(w, ADAPTER_OK, NULL);
}

static void slurm_held(void *arg, struct command_result *result)
{
    struct slurm_withdrawal *w = arg;
    struct adapter *a = batch_order_adapter(w->order);
    const char *const args[] = {"--state=PENDING", w->name, batch_order_id(w->order), NULL};
    struct error err;

    if (batch_check(result, "scontrol", &err) == 0)
        batch_run(a, a->endings, SLURM_SCANCEL, args, NULL, BATCH_WORDS_MAX, slurm_withdrawn, w);
    else if (result->end == COMMAND_EXITED && strstr(result->err, "ontact") == NULL &&
             strstr(result->err, "timed out") == NULL)
        finish_slurm_withdrawal(w, ADAPTER_OK, NULL); /* the job has started, or is gone: it is left alone */
    else
        finish_slurm_withdrawal(w, ADAPTER_UNSURE, &err);
}

void slurm_withdraw(struct batch_order *order, const struct batch_row *row)
{
    struct adapter *a = batch_order_adapter(order);
    struct slurm_withdrawal *w = xcalloc(1, sizeof *w);
    const char *const args[] = {"hold", row->id, NULL};

    *w = (struct slurm_withdrawal){.order = order, .name = xasprintf("--name=%s", row->label)};
    batch_run(a, a->endings, SLURM_SCONTROL, args, NULL, BATCH_WORDS_MAX, slurm_held, w);
}
