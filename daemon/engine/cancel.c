/* Orders to end a job. An order is given once the cancellation is committed. That a scheduler accepted it proves
 * nothing: the order is repeated, after growing pauses, for as long as the scheduler's answers have the job, and at
 * once if somebody cancels the job again. */
#include "daemon/engine/cancel.h"

#include "common/error.h"
#include "common/log.h"
#include "daemon/engine/adapter_state.h"
#include "daemon/engine/alarm.h"
#include "daemon/engine/core.h"
#include "daemon/engine/job.h"
#include "daemon/engine/paths.h"
#include "daemon/engine/plan.h"
#include "scheduler-adapters/adapter.h"

#include <stdlib.h>

void job_send_cancel(struct engine *engine, struct live_job *job)
{
    char *dir = engine_job_dir(engine, job);
    struct adapter_job ajob;

    plan_adapter_job(job, dir, &ajob);
    job->ending.cancel_again_ms = INT64_MAX;
    job->ending.cancels++;
    job_scheduler(job)->cancel(engine, job, &ajob);
    free(dir);
}

bool job_cancel_is_due(const struct engine *engine, const struct live_job *job)
{
    return job->row.cancel && !job->ending.over && !job_is_gone(job) &&
           engine_now(engine) >= job->ending.cancel_again_ms;
}

void cancel_tell_repeated(struct known_adapter *adapter, int n)
{
    if (n > 0)
        log_warn_of(LOG_ADAPTER(adapter->ops->name),
                    "adapter %s still has %d jobs that were cancelled: they are cancelled again", adapter->ops->name,
                    n);
}

static void committed(void *arg, const struct error *failed)
{
    struct engine *engine;
    struct live_job *job = job_of_ticket(arg, &engine);

    if (job != NULL && failed == NULL) {
        job_advance(engine, job);
        engine_settle(engine);
    }
}

void job_cancel(struct engine *engine, struct live_job *job)
{
    struct error err;

    if (!job->row.cancel) {
        job->row.cancel = true;
        store_job_update(engine->store, &job->row, &err);
    } else if (job->ending.cancels == 0 || job->ending.cancel_again_ms == INT64_MAX) {
        return; /* an order is still to be sent, or being sent */
    }
    job->ending.cancels = 0;
    job->ending.cancel_again_ms = 0;
    turn_after_commit(engine->turn, committed, ticket_new(engine, job->row.id));
}
