/* Jobs that a scheduler has too many: a name may have been submitted twice, since a scheduler that had lost sight of a job, or
 * whose answer was lost, comes back with it. Only one of the two can claim the job, so neither does harm; but the other one
 * waits in the queue in front of others, of which it may be the last that has no room: a training's second job before the
 * members that the first one waits for would wait for ever. So it is taken out. */
#include "daemon/engine/internal.h"

#include "common/log.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* Of the answers that a job waits, one in so many has its claim looked for: it may have run between two answers, and its scheduler
 * have come back with an older state, in which it is held for ever. */
#define LOOK_EVERY 24

struct surplus {
    struct surplus *next;
    int64_t id;
    char name[64], scheduler_id[64];
};

/* Is it sure that nothing can come of the queued job with this id? */
static bool is_needless(struct engine *engine, const struct known_adapter *adapter, const struct surplus *surplus)
{
    const struct live_job *job = engine_find_job(engine, surplus->id);
    struct job_row row;
    struct error err;

    if (job == NULL) /* after its end its claim is taken */
        return store_job_get(engine->store, surplus->id, &row, &err) == 1 && row.state == JOB_ENDED;
    /* the same answer told of another one that waits or runs; where it was not asked about, this may be the only one, or another adapter for
     * the same batch system is */
    return job->adapter == adapter && job->told_in == adapter->answers && !job_is_gone(job) && job->row.scheduler_id[0] != '\0' &&
           strcmp(job->row.scheduler_id, surplus->scheduler_id) != 0;
}

static void withdrawn(void *arg, enum adapter_answer answer, const struct error *why)
{
    int64_t id;
    struct engine *engine = ticket_redeem(arg, &id);

    if (engine == NULL)
        return;
    engine->withdrawals--;
    if (answer != ADAPTER_OK && engine->withdrawals_failed++ == 0) /* there may be thousands, and they are tried again with each answer */
        log_warn("job %lld: a surplus one of its name could not be taken out of the queue: %s", (long long)id, why->text);
    else if (answer == ADAPTER_OK && engine->withdrawals_failed > 0)
        log_info("surplus jobs are taken out of the queue again, after %d times that they could not be", engine->withdrawals_failed);
    engine->withdrawals_failed = answer == ADAPTER_OK ? 0 : engine->withdrawals_failed;
}

static void withdraw(struct engine *engine, struct known_adapter *adapter, int64_t id, const char *name,
                     const char *scheduler_id)
{
    if (adapter->ops->withdraw == NULL || engine->withdrawals >= WITHDRAWALS_MAX)
        return;
    if (adapter->withdrawn++ == 0) /* the others of this answer are counted */
        log_info_of(LOG_ADAPTER(adapter->ops->name), "adapter %s: job %s has run, or is there twice; %s is taken out of the queue",
                    adapter->ops->name, name, scheduler_id);
    engine->withdrawals++;
    adapter->ops->withdraw(adapter->adapter, name, scheduler_id, withdrawn, ticket_new(engine, id));
}

void engine_surplus(struct engine *engine, const struct adapter *adapter, const char *name, const char *scheduler_id)
{
    struct known_adapter *known = engine_known_adapter(engine, adapter);
    int64_t id = engine_parse_job_name(engine, name);
    struct surplus *surplus;

    if (known == NULL || known->ops->withdraw == NULL || id < 0)
        return;
    surplus = xcalloc(1, sizeof *surplus);
    surplus->id = id;
    snprintf(surplus->name, sizeof surplus->name, "%s", name);
    snprintf(surplus->scheduler_id, sizeof surplus->scheduler_id, "%s", scheduler_id);
    LL_PREPEND(known->surplus, surplus);
}

void surplus_settle(struct engine *engine, struct known_adapter *adapter, bool answered)
{
    struct surplus *surplus, *next;

    adapter->needless = answered ? 0 : adapter->needless;
    LL_FOREACH_SAFE (adapter->surplus, surplus, next) {
        if (answered && is_needless(engine, adapter, surplus)) {
            adapter->needless++;
            withdraw(engine, adapter, surplus->id, surplus->name, surplus->scheduler_id);
        }
        free(surplus);
    }
    adapter->surplus = NULL;
    if (adapter->withdrawn > 1)
        log_info_of(LOG_ADAPTER(adapter->ops->name), "adapter %s: %d more jobs are taken out of the queue for the same reason",
                    adapter->ops->name, adapter->withdrawn - 1);
    adapter->withdrawn = 0;
}

void surplus_note_queued(struct engine *engine, struct live_job *job, const char *scheduler_id)
{
    if (job->proof != PROOF_NONE || job->open == 0) /* by a runner, by us; or its attempts have all ended */
        withdraw(engine, job->adapter, job->row.id, job->row.name, scheduler_id);
    else if (job->started || job->row.submissions > 1 || job->looks_left > 0 || ++job->told_waiting % LOOK_EVERY == 0)
        job->look = true;
    job->looks_left -= job->looks_left > 0;
}

static void swept(void *arg, enum adapter_answer answer, const struct error *why)
{
    struct engine *engine;
    struct live_job *job = job_answered(arg, &engine);

    if (job == NULL)
        return;
    job->swept = answer == ADAPTER_OK;
    if (job->swept)
        job_end(engine, job, "");
    else
        job_retry_in(engine, job, POLL_MS);
    engine_settle(engine);
}

bool surplus_is_swept(struct engine *engine, struct live_job *job)
{
    struct adapter_job ajob;
    char *dir;

    if (job->swept || job_is_inside(job) || (job->refusal != REFUSAL_QUEUED && (job->row.submissions < 2 || job->adapter->ops->withdraw == NULL)))
        return true;
    if (job->pending == PENDING_SWEEP)
        return false;
    job->pending = PENDING_SWEEP;
    dir = engine_job_dir(engine, job);
    plan_adapter_job(job, dir, &ajob);
    job->adapter->ops->cancel(job->adapter->adapter, &ajob, swept, ticket_new(engine, job->row.id));
    free(dir);
    return false;
}
