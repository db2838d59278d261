/* Takes a waiting job out of the queue. The job is held first and looked at again, since deleting it would end a job
 * that has begun meanwhile. OpenPBS cannot hold a single job of an array: such a job is deleted as soon as it was seen
 * to wait. If it begins in that moment it is lost as by any qdel, which costs no retry; a held array whose daemon dies
 * would wait for ever. */
#include "scheduler-adapters/pbs.h"

#include <string.h>

static void pbs_withdrawn(void *arg, struct command_result *result)
{
    struct batch_order *order = arg;
    struct error err;

    if (batch_check(result, "qdel", &err) < 0 && !batch_only_gone(batch_order_adapter(order), result))
        batch_order_done(order, ADAPTER_UNSURE, err.code, err.text);
    else
        batch_order_done(order, ADAPTER_OK, NULL, NULL);
}

static void run_on_order(struct batch_order *order, enum pbs_program program, command_cb *cb)
{
    struct adapter *a = batch_order_adapter(order);
    const char *const args[] = {batch_order_id(order), NULL};

    batch_run(a, a->endings, program, args, NULL, BATCH_WORDS_MAX, cb, order);
}

static void delete_or_let_go(void *arg, const struct batch_rows *rows, const struct error *err)
{
    struct batch_order *order = arg;
    const struct batch_row *row = rows != NULL ? batch_order_row(order, rows) : NULL;

    if (rows == NULL)
        batch_order_done(order, ADAPTER_UNSURE, err->code, err->text);
    else if (row == NULL || row->phase == BATCH_OVER)
        batch_order_done(order, ADAPTER_OK, NULL, NULL);
    else
        run_on_order(order, row->phase == BATCH_WAITS ? PBS_QDEL : PBS_QRLS, pbs_withdrawn);
}

static void pbs_held(void *arg, struct command_result *result)
{
    struct batch_order *order = arg;
    struct adapter *a = batch_order_adapter(order);
    struct error err;

    if (batch_check(result, "qhold", &err) == 0)
        batch_look(a, delete_or_let_go, order);
    else if (batch_only_gone(a, result))
        batch_order_done(order, ADAPTER_OK, NULL, NULL);
    else
        batch_order_done(order, ADAPTER_UNSURE, err.code, err.text);
}

void pbs_withdraw(struct batch_order *order, const struct batch_row *row)
{
    if (pbs_of(batch_order_adapter(order))->kind == PBS_KIND_OPENPBS && strchr(row->id, '[') != NULL)
        run_on_order(order, PBS_QDEL, pbs_withdrawn);
    else
        run_on_order(order, PBS_QHOLD, pbs_held);
}
