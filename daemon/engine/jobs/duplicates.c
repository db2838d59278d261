/* Duplicates in a scheduler's queue. A name may have been submitted twice, if the scheduler lost sight of the job, or
 * its answer was lost, and the first one comes back. Only one of the two can claim the job, so a duplicate does no harm
 * when it starts. But in the queue it stands before other jobs, and may never get the resources that it asks for. The
 * second job of a training would wait for ever before the members that the first one waits for. So it is taken out. */
#include "daemon/engine/jobs/duplicates.h"

#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/jobs/plan.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/job_event.h"
#include "daemon/engine/memory/paths.h"
#include "daemon/engine/memory/polls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define WITHDRAWALS_MAX 16 /* of duplicates, under way at once; the others wait for the next poll */

/* The number of answers between two looks for the claim of a queued job. The job may have run between two answers, and
 * its scheduler may then have come back with an older state, in which the job waits for ever. */
#define LOOK_EVERY 24

struct duplicate {
    struct duplicate *next;
    int64_t id;
    char name[64], scheduler_id[64];
};

/* Returns whether nothing can come of the queued job with this scheduler's id. */
static bool is_needless(struct engine *engine, const struct known_adapter *adapter, const struct duplicate *duplicate)
{
    const struct live_job *job = engine_find_job(engine, duplicate->id);
    struct job_row row;
    struct error err;

    if (job == NULL) /* its claim is taken if it has ended */
        return store_job_get(engine->store, duplicate->id, &row, &err) == 1 && row.state == JOB_ENDED &&
               strcmp(row.name, duplicate->name) == 0;
    /* The same answer must have told of another job of that name that is queued or runs. If it did not ask for it, this
     * may be the only one, or belong to another adapter of the same batch system. */
    return job->adapter == adapter && strcmp(job->row.name, duplicate->name) == 0 &&
           job->told.answer == adapter->polls.answers && !job_is_gone(job) && job->row.scheduler_id[0] != '\0' &&
           strcmp(job->row.scheduler_id, duplicate->scheduler_id) != 0;
}

static void withdrawal_answered(void *arg, enum adapter_answer answer, const struct error *why)
{
    int64_t id;
    struct engine *engine = ticket_redeem(arg, &id);

    if (engine == NULL)
        return;
    engine->withdrawals.under_way--;
    /* Only the first failure is logged: there may be thousands, and they are tried again with each answer. */
    if (answer != ADAPTER_OK && engine->withdrawals.failed++ == 0)
        log_warn("job %lld: a duplicate of it could not be taken out of the queue: %s", (long long)id, why->text);
    else if (answer == ADAPTER_OK && engine->withdrawals.failed > 0)
        log_info("duplicates are taken out of the queue again, after %d times that they could not be",
                 engine->withdrawals.failed);
    engine->withdrawals.failed = answer == ADAPTER_OK ? 0 : engine->withdrawals.failed;
}

static void withdraw_duplicate(struct engine *engine, struct known_adapter *adapter, int64_t id, const char *name,
                               const char *scheduler_id)
{
    if (adapter->ops->withdraw == NULL || engine->withdrawals.under_way >= WITHDRAWALS_MAX)
        return;
    if (adapter->withdrawn++ == 0) /* the first of this answer; duplicate_settle() logs how many more there were */
        log_info_of(LOG_ADAPTER(adapter->ops->name),
                    "adapter %s: job %s has run, or is there twice; %s is taken out of the queue", adapter->ops->name,
                    name, scheduler_id);
    engine->withdrawals.under_way++;
    adapter->ops->withdraw(adapter->adapter, name, scheduler_id, withdrawal_answered, ticket_new(engine, id));
}

void engine_duplicate(struct engine *engine, const struct adapter *adapter, const char *name, const char *scheduler_id)
{
    struct known_adapter *known = engine_known_adapter(engine, adapter);
    int64_t id = engine_parse_job_name(name);
    struct duplicate *duplicate;

    if (known == NULL || known->ops->withdraw == NULL || id < 0)
        return;
    duplicate = xcalloc(1, sizeof *duplicate);
    duplicate->id = id;
    snprintf(duplicate->name, sizeof duplicate->name, "%s", name);
    snprintf(duplicate->scheduler_id, sizeof duplicate->scheduler_id, "%s", scheduler_id);
    LL_PREPEND(known->duplicates, duplicate);
}

void duplicate_settle(struct engine *engine, struct known_adapter *adapter, bool answered)
{
    struct duplicate *duplicate, *next;

    adapter->needless = answered ? 0 : adapter->needless;
    LL_FOREACH_SAFE (adapter->duplicates, duplicate, next) {
        if (answered && is_needless(engine, adapter, duplicate)) {
            adapter->needless++;
            withdraw_duplicate(engine, adapter, duplicate->id, duplicate->name, duplicate->scheduler_id);
        }
        free(duplicate);
    }
    adapter->duplicates = NULL;
    if (adapter->withdrawn > 1)
        log_info_of(LOG_ADAPTER(adapter->ops->name),
                    "adapter %s: %d more jobs are taken out of the queue for the same reason", adapter->ops->name,
                    adapter->withdrawn - 1);
    adapter->withdrawn = 0;
}

void duplicate_note_queued(struct engine *engine, struct live_job *job, const char *scheduler_id)
{
    if (job->state.proof != PROOF_NONE || job->open == 0) /* it is claimed, or all its attempts have ended */
        withdraw_duplicate(engine, job->adapter, job->row.id, job->row.name, scheduler_id);
    else if (job->found.started || job->row.submissions > 1 || job->told.looks_left > 0 ||
             ++job->told.waiting % LOOK_EVERY == 0)
        job->found.look = true;
    job->told.looks_left -= job->told.looks_left > 0;
}

static void duplicates_swept(void *arg, enum adapter_answer answer, const struct error *why)
{
    struct engine *engine;
    struct live_job *job = job_answered(arg, EVENT_SWEPT, &engine);

    if (job == NULL)
        return;
    job->ending.swept = answer == ADAPTER_OK;
    if (job->ending.swept)
        job_touch(engine, job);
    else
        job_retry_in(engine, job, POLL_MS);
    engine_settle(engine);
}

bool duplicate_is_swept(struct engine *engine, struct live_job *job)
{
    struct adapter_job ajob;
    char *dir;

    if (job->ending.swept ||
        (job->ending.refusal != REFUSAL_QUEUED && (job->row.submissions < 2 || !job_scheduler(job)->has_duplicates)))
        return true;
    if (job->state.pending == PENDING_SWEEP)
        return false;
    job_post(engine, job, EVENT_SWEEPING);
    dir = engine_job_dir(engine, job);
    plan_adapter_job(job, dir, &ajob);
    job->adapter->ops->cancel(job->adapter->adapter, &ajob, duplicates_swept, ticket_new(engine, job->row.id));
    free(dir);
    return false;
}
