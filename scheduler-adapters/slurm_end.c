/* A waiting job is taken out of the queue. Held first: one that has not started cannot any more, and what is
 * cancelled then has not. And a scancel that looks at the state would take a whole array that waits for the one task
 * of it that it was given, had holding the task not made it a job of its own. */
#include "scheduler-adapters/slurm.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define HELD "launch failed requeued held" /* Slurm has put it back, without being asked to, and will not start it again */

const char *const slurm_gone[] = {"Invalid job id", "already completing", "already finished", NULL};

static void taken_out(void *arg, enum adapter_answer answer, const struct error *err)
{
}

/* One whose launch failed, by a node that was not well. Taken out of the queue it is over, and the daemon starts
 * anew. */
void slurm_waits(struct adapter *a, const struct batch_row *row)
{
    if (strcmp(row->reason, HELD) != 0)
        return;
    a->host.log(a->host.arg, ADAPTER_LOG_WARN, row->name, "Slurm says: " HELD "; it is taken out of the queue");
    batch_withdraw(a, row->name, row->id, taken_out, NULL);
}

struct withdrawal {
    struct batch_order *order;
    char *name; /* option with what it is called in Slurm */
};

static void finish(struct withdrawal *w, enum adapter_answer answer, const struct error *err)
{
    batch_order_done(w->order, answer, err != NULL ? err->code : NULL, err != NULL ? err->text : NULL);
    free(w->name);
    free(w);
}

static void withdrawn(void *arg, struct command_result *result)
{
    struct withdrawal *w = arg;
    struct error err;

    if (batch_check(result, "scancel", &err) < 0 && !batch_only_gone(batch_order_adapter(w->order), result))
        finish(w, ADAPTER_UNSURE, &err);
    else
        finish(w, ADAPTER_OK, NULL);
}

static void held(void *arg, struct command_result *result)
{
    struct withdrawal *w = arg;
    struct adapter *a = batch_order_adapter(w->order);
    const char *const args[] = {"--state=PENDING", w->name, batch_order_id(w->order), NULL};
    struct error err;

    if (batch_check(result, "scontrol", &err) == 0)
        batch_run(a, a->endings, SLURM_SCANCEL, args, NULL, BATCH_WORDS_MAX, withdrawn, w);
    else if (result->end == COMMAND_EXITED && strstr(result->err, "ontact") == NULL && strstr(result->err, "timed out") == NULL)
        finish(w, ADAPTER_OK, NULL); /* it has started, or is gone: it is left alone */
    else
        finish(w, ADAPTER_UNSURE, &err);
}

void slurm_withdraw(struct batch_order *order, const struct batch_row *row)
{
    struct adapter *a = batch_order_adapter(order);
    struct withdrawal *w = xcalloc(1, sizeof *w);
    const char *const args[] = {"hold", row->id, NULL};

    *w = (struct withdrawal){.order = order, .name = xasprintf("--name=%s", row->label)};
    batch_run(a, a->endings, SLURM_SCONTROL, args, NULL, BATCH_WORDS_MAX, held, w);
}
