/* Orders to end a job: given once they are committed, and given again where they were not taken, or nothing came of them. */
#include "daemon/engine/pilot.h"

#include "common/log.h"

#include <stdlib.h>

#define CANCEL_AGAIN_MS 60000 /* beyond its grace, that a scheduler may still have a job that it was told to end; then doubled */
#define CANCEL_AGAIN_MAX 3600000

static void answered(void *arg, enum adapter_answer answer, const struct error *why)
{
    int64_t id;
    struct engine *engine = ticket_redeem(arg, &id);
    struct live_job *job = engine ? engine_find_job(engine, id) : NULL;

    if (job == NULL || answer == ADAPTER_OK)
        return;
    log_warn_of(LOG_JOB(job->row.ensemble, job->row.name), "job %s: it could not be cancelled: %s", job->row.name,
                why->text);
    job->cancel_sent = false;
    job_retry_in(engine, job, POLL_MS);
}

static int64_t patience(const struct live_job *job)
{
    int64_t ms = CANCEL_AGAIN_MS;

    for (int i = 1; i < job->cancels && ms < CANCEL_AGAIN_MAX; i++)
        ms *= 2;
    return ms < CANCEL_AGAIN_MAX ? ms : CANCEL_AGAIN_MAX;
}

void job_send_cancel(struct engine *engine, struct live_job *job)
{
    char *dir = engine_job_dir(engine, job);
    struct adapter_job ajob;

    plan_adapter_job(job, dir, &ajob);
    job->cancel_sent = true;
    job->cancels++;
    job->cancel_again_ms = engine_now(engine) + ajob.grace_ms + patience(job);
    if (job_is_inside(job))
        pilot_order_cancel(engine, job);
    else
        job->adapter->ops->cancel(job->adapter->adapter, &ajob, answered, ticket_new(engine, job->row.id));
    free(dir);
}

bool job_cancel_was_lost(struct engine *engine, struct live_job *job)
{
    if (!job->cancel_sent || job->over || engine_now(engine) < job->cancel_again_ms)
        return false;
    log_warn_of(LOG_JOB(job->row.ensemble, job->row.name), "job %s: its scheduler has taken the order to cancel it, and has it still: "
                "it is told again", job->row.name);
    job->cancel_sent = false;
    return true;
}

static void committed(void *arg, const struct error *failed)
{
    int64_t id;
    struct engine *engine = ticket_redeem(arg, &id);
    struct live_job *job = engine && !failed ? engine_find_job(engine, id) : NULL;

    if (job != NULL) {
        job_advance(engine, job);
        engine_settle(engine);
    }
}

void job_cancel(struct engine *engine, struct live_job *job)
{
    struct error err;

    if (job->row.cancel)
        return;
    job->row.cancel = true;
    store_job_update(engine->store, &job->row, &err);
    turn_after_commit(engine->turn, committed, ticket_new(engine, job->row.id));
}
