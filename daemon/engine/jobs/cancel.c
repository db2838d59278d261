/* Orders to end a job. An order is given once the cancellation is committed. A scheduler that accepts it may still fail
 * to carry it out. So the order is repeated, after growing pauses, for as long as the scheduler's answers have the job,
 * and at once if somebody cancels the job again. */
#include "daemon/engine/jobs/cancel.h"

#include "common/error.h"
#include "common/log.h"
#include "daemon/engine/jobs/plan.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/paths.h"
#include "scheduler-adapters/adapter.h"

#include <stdlib.h>

#define HELD_LOOK_MS 250   /* between looks whether orders are still to be held back */
#define HELD_MAX_MS 120000 /* orders are held back no longer, since a scheduler may never say whether it has a job */

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

/* Returns whether the scheduler is believed to have the job, so that it can be ordered to end it. */
static bool can_be_cancelled(const struct live_job *job)
{
    return (job->state.pending == PENDING_NONE || job->state.pending == PENDING_COLLECT) && job_is_asked(job) &&
           job->row.state != JOB_INTENT && job->state.belief != BELIEF_RETURNED && !job_is_gone(job);
}

bool job_cancel_is_due(const struct engine *engine, const struct live_job *job)
{
    return job->row.cancel && !job->ending.over && can_be_cancelled(job) && job->ensemble->cancels.held_since == 0 &&
           engine_now(engine) >= job->ending.cancel_again_ms;
}

void cancel_tell_repeated(struct known_adapter *adapter, int n)
{
    if (n > 0)
        log_warn_of(LOG_ADAPTER(adapter->ops->name),
                    "adapter %s still has %d jobs that were cancelled: they are cancelled again", adapter->ops->name,
                    n);
}

static void cancel_committed(void *arg, const struct error *failed)
{
    struct engine *engine;
    struct live_job *job = job_of_ticket(arg, &engine);

    if (job != NULL && failed == NULL) {
        job_touch(engine, job);
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
    turn_after_commit(engine->turn, cancel_committed, ticket_new(engine, job->row.id));
}

/* Returns whether it is not known yet what order, if any, the cancelled job needs: it may be about to enter the queue.
 * A job inside a pilot waits in no queue of the scheduler. */
static bool is_unclear(const struct live_job *job)
{
    return job->row.cancel && !job_is_inside(job) && job->adapter == job->ensemble->adapter && !job->ending.over &&
           ((job->state.pending != PENDING_NONE && job->state.pending != PENDING_COLLECT) || !job_is_asked(job));
}

static bool awaits_more(const struct engine *engine, const struct live_ensemble *ens)
{
    if (ens->cancels.more)
        return true;
    if (engine_now(engine) - ens->cancels.held_since >= HELD_MAX_MS)
        return false;
    for (const struct live_job *job = ens->jobs; job != NULL; job = job->ens_next)
        if (is_unclear(job))
            return true;
    return false;
}

static void give_orders(void *arg, const struct error *failed)
{
    struct engine *engine;
    struct live_ensemble *ens;
    int64_t id;

    engine = ticket_redeem(arg, &id);
    ens = engine != NULL && failed == NULL ? engine_find_ensemble(engine, id) : NULL;
    if (ens == NULL || ens->cancels.held_since == 0)
        return;
    if (awaits_more(engine, ens)) { /* since this turn's commit began */
        cancel_release(engine, ens);
        return;
    }
    ens->cancels.held_since = 0;
    for (struct live_job *job = ens->jobs; job != NULL; job = job->ens_next)
        if (job_cancel_is_due(engine, job))
            job_touch(engine, job);
    engine_settle(engine);
}

void cancel_gather(struct engine *engine, struct live_ensemble *ens, bool more)
{
    ens->cancels.more = more;
    if (ens->cancels.held_since == 0)
        ens->cancels.held_since = engine_now(engine);
}

void cancel_release(struct engine *engine, struct live_ensemble *ens)
{
    int64_t look = engine_now(engine) + HELD_LOOK_MS;

    if (ens->cancels.held_since == 0)
        return;
    if (!awaits_more(engine, ens))
        turn_after_commit(engine->turn, give_orders, ticket_new(engine, ens->row.id));
    else if (!heap_holds(&ens->due_alarm.node) || ens->due_alarm.node.key > look)
        alarm_set(engine, &ens->due_alarm, look);
}
