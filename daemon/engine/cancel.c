/* Orders to end a job. An order is given once the cancellation is committed. That a scheduler accepted it proves
 * nothing: the order is repeated, after growing pauses, for as long as the scheduler's answers have the job, and at
 * once if somebody cancels the job again. */
#include "daemon/engine/cancel.h"

#include "common/backoff.h"
#include "common/error.h"
#include "common/log.h"
#include "common/text.h"
#include "daemon/engine/adapter_state.h"
#include "daemon/engine/alarm.h"
#include "daemon/engine/core.h"
#include "daemon/engine/job.h"
#include "daemon/engine/paths.h"
#include "daemon/engine/pilot.h"
#include "daemon/engine/plan.h"
#include "scheduler-adapters/adapter.h"

#include <stdlib.h>

#define CANCEL_AGAIN_MS 60000   /* after an order and the grace, if the scheduler still has the job; then doubled */
#define CANCEL_REFUSED_MS 15000 /* after an order that failed, which may be what broke the scheduler; then doubled */
#define CANCEL_AGAIN_MAX 3600000
#define CANCELS_TOLD_MS 600000 /* between lines of the log about orders that failed */

/* Logs that orders fail: a line at first, then one in a while, since there may be thousands of jobs. */
static void tell_refused(struct engine *engine, struct known_adapter *adapter, const char *why)
{
    int64_t now = engine_now(engine);

    if (adapter->told.cancels_refused++ == 0)
        log_warn_of(LOG_ADAPTER(adapter->ops->name),
                    "adapter %s does not take orders to cancel jobs (%s); they are given again after growing pauses",
                    adapter->ops->name, why);
    else if (now - adapter->told.cancels_told_ms >= CANCELS_TOLD_MS)
        log_warn_of(LOG_ADAPTER(adapter->ops->name), "adapter %s has not taken %lld orders to cancel jobs: %s",
                    adapter->ops->name, (long long)adapter->told.cancels_refused, why);
    else
        return;
    adapter->told.cancels_told_ms = now;
}

static void tell_taken(struct known_adapter *adapter)
{
    if (adapter->told.cancels_refused > 0)
        log_info_of(LOG_ADAPTER(adapter->ops->name),
                    "adapter %s takes orders to cancel jobs again, after %lld that it did not take", adapter->ops->name,
                    (long long)adapter->told.cancels_refused);
    adapter->told.cancels_refused = 0;
}

static void answered(void *arg, enum adapter_answer answer, const struct error *why)
{
    struct engine *engine;
    struct live_job *job = job_of_ticket(arg, &engine);
    struct adapter_job ajob;

    if (job == NULL)
        return;
    if (answer == ADAPTER_OK) {
        plan_adapter_job(job, NULL, &ajob);
        tell_taken(job->adapter);
        job->ending.cancel_again_ms =
            engine_now(engine) + ajob.grace_ms + backoff_ms(CANCEL_AGAIN_MS, job->ending.cancels, CANCEL_AGAIN_MAX);
    } else {
        tell_refused(engine, job->adapter, why->text);
        job->ending.cancel_again_ms =
            engine_now(engine) + backoff_ms(CANCEL_REFUSED_MS, job->ending.cancels, CANCEL_AGAIN_MAX);
    }
}

void job_send_cancel(struct engine *engine, struct live_job *job)
{
    char *dir = engine_job_dir(engine, job);
    struct adapter_job ajob;

    plan_adapter_job(job, dir, &ajob);
    job->ending.cancel_again_ms = INT64_MAX;
    job->ending.cancels++;
    if (job_is_inside(job))
        pilot_order_cancel(engine, job);
    else
        job->adapter->ops->cancel(job->adapter->adapter, &ajob, answered, ticket_new(engine, job->row.id));
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
