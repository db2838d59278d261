#include "daemon/engine/settle.h"

#include "common/stretto_assert.h"
#include "daemon/engine/ensembles/dispatch.h"
#include "daemon/engine/ensembles/elastic_change.h"
#include "daemon/engine/ensembles/end.h"
#include "daemon/engine/ensembles/give_places.h"
#include "daemon/engine/ensembles/guard.h"
#include "daemon/engine/jobs/feed.h"
#include "daemon/engine/jobs/job_life.h"
#include "daemon/engine/members/outcome.h"
#include "daemon/engine/members/stop_only.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/facts.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/trainings/ranks.h"
#include "daemon/engine/trainings/training_end.h"

#include <utlist.h>

/* Hands a fact of a job to its owner. The job is still there: it is freed only once its facts are handed over. */
static void hand_over_of_job(struct engine *engine, struct live_job *job, const struct fact *fact)
{
    struct slot *slot = &job->slots[fact->slot];

    stretto_assert(fact->slot < job->n_slots && fact->ensemble == job->row.ensemble);
    switch (fact->kind) {
    case FACT_ATTEMPT_ENDED:
        if (job->row.kind == JOB_TRAINING)
            training_rank_ended(engine, job, slot, &fact->of.attempt);
        else
            outcome_apply(engine, job, slot, &fact->of.attempt);
        break;
    case FACT_POINT: stop_only_take(engine, job, slot, &fact->of.metric.point, fact->of.metric.best); break;
    case FACT_JOB_OVER: training_read_rest(engine, job->ensemble); break;
    case FACT_JOB_ENDED: training_job_ended(engine, job->ensemble); break;
    default: break;
    }
}

static void hand_over_of_ensemble(struct engine *engine, struct live_ensemble *ens, const struct fact *fact)
{
    switch (fact->kind) {
    case FACT_MEMBER_ENDED:
        guard_note(engine, ens, &fact->of.member.row, fact->of.member.outcome, fact->of.member.reason);
        break;
    case FACT_LIST_TAKEN: training_read_metrics(engine, ens); break;
    case FACT_STEPS_COUNTED: training_all_read(engine, ens); break;
    case FACT_RANKS_WAITED: elastic_note(engine, ens, &fact->of.waited.sum, &fact->of.waited.draws); break;
    case FACT_TO_STOP: engine_stop_ensemble(engine, ens, fact->of.reason); break;
    default: break;
    }
}

static void hand_over_facts(struct engine *engine)
{
    struct fact *fact;

    while ((fact = fact_take(engine)) != NULL) {
        struct live_ensemble *ens = engine_find_ensemble(engine, fact->ensemble);
        struct live_job *job = engine_find_job(engine, fact->job);

        if (job != NULL)
            hand_over_of_job(engine, job, fact);
        else if (ens != NULL && fact->job == 0)
            hand_over_of_ensemble(engine, ens, fact);
        fact_free(fact);
    }
}

static void step_jobs(struct engine *engine)
{
    struct live_job *job;

    while ((job = engine->to_settle.jobs) != NULL) {
        DL_DELETE2(engine->to_settle.jobs, job, touched.prev, touched.next);
        job->touched.is = false;
        job_step(engine, job);
        hand_over_facts(engine);
        if (job->row.state != JOB_ENDED)
            continue;
        stretto_assert(job->open == 0 && job->state.pending == PENDING_NONE);
        job_destroy(engine, job);
    }
}

static void look_at_ensembles(struct engine *engine)
{
    struct live_ensemble *ens;

    while ((ens = engine->to_settle.ensembles) != NULL) {
        DL_DELETE2(engine->to_settle.ensembles, ens, touched.prev, touched.next);
        ens->touched.is = false;
        dispatch_ensemble(engine, ens);
        hand_over_facts(engine);
    }
}

static void store_progress(struct engine *engine)
{
    struct live_ensemble *ens;
    struct error err;

    while ((ens = engine->to_settle.saved) != NULL) {
        LL_DELETE2(engine->to_settle.saved, ens, next_unsaved);
        ens->unsaved = false;
        store_ensemble_advance(engine->store, ens->row.id, ens->row.next_index, &err);
    }
}

void settle(struct engine *engine)
{
    do {
        hand_over_facts(engine);
        step_jobs(engine);
        look_at_ensembles(engine);
        give_places(engine);
        feed_read(engine);
    } while (engine->to_settle.facts != NULL || engine->to_settle.jobs != NULL || engine->to_settle.ensembles != NULL);
    store_progress(engine);
}
