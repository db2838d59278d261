/* Jobs that a scheduler has too many: a name may have been submitted twice, since a scheduler that had lost sight of a job, or
 * whose answer was lost, comes back with it. Only one of the two can claim the job, so neither does harm; but the other one
 * waits in the queue in front of others, of which it may be the last that has no room: a training's second job before the
 * members that the first one waits for would wait for ever. So it is taken out. */
#include "daemon/engine/internal.h"

#include "common/log.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* Is it sure that nothing can come of the queued job with this id? */
static bool is_surplus(struct engine *engine, int64_t id, const char *scheduler_id)
{
    const struct live_job *job = engine_find_job(engine, id);
    struct job_row row;
    struct error err;

    if (job == NULL) /* after its end its claim is taken */
        return store_job_get(engine->store, id, &row, &err) == 1 && row.state == JOB_ENDED;
    /* while an answer is awaited, it may be the one that this will tell of */
    return job->row.state != JOB_INTENT && job->row.scheduler_id[0] != '\0' &&
           strcmp(job->row.scheduler_id, scheduler_id) != 0;
}

static void withdrawn(void *arg, enum adapter_answer answer, const struct error *why)
{
    int64_t id;
    struct engine *engine = ticket_redeem(arg, &id);

    if (engine == NULL)
        return;
    engine->withdrawals--;
    if (answer != ADAPTER_OK)
        log_warn("job %lld: a surplus one of its name could not be taken out of the queue: %s", (long long)id, why->text);
}

static void withdraw(struct engine *engine, const struct known_adapter *known, int64_t id, const char *name,
                     const char *scheduler_id)
{
    if (known->ops->withdraw == NULL || engine->withdrawals >= WITHDRAWALS_MAX)
        return;
    log_info_of(LOG_ADAPTER(known->ops->name), "adapter %s: job %s has run, or is there twice; %s is taken out of the queue",
                known->ops->name, name, scheduler_id);
    engine->withdrawals++;
    known->ops->withdraw(known->adapter, name, scheduler_id, withdrawn, ticket_new(engine, id));
}

void engine_surplus(struct engine *engine, const struct adapter *adapter, const char *name, const char *scheduler_id)
{
    const struct known_adapter *known = engine_known_adapter(engine, adapter);
    int64_t id = engine_parse_job_name(engine, name);

    if (known != NULL && id >= 0 && !engine->resting && is_surplus(engine, id, scheduler_id))
        withdraw(engine, known, id, name, scheduler_id);
}

void surplus_note_queued(struct engine *engine, struct live_job *job, const char *scheduler_id)
{
    if (job->claimed)
        withdraw(engine, job->adapter, job->row.id, job->row.name, scheduler_id);
    else if (job->started || job->row.submissions > 1)
        job->look = true;
}

/* Nobody waits for the answer: what is left nevertheless is told to engine_surplus() by the next poll. */
static void swept(void *arg, enum adapter_answer answer, const struct error *why)
{
}

void surplus_sweep(struct engine *engine, struct live_job *job)
{
    struct adapter_job ajob;
    char *dir;

    if (job->row.submissions < 2 || job->adapter->ops->withdraw == NULL)
        return;
    dir = plan_job_dir(engine, job);
    plan_adapter_job(job, dir, &ajob);
    job->adapter->ops->cancel(job->adapter->adapter, &ajob, swept, NULL);
    free(dir);
}
