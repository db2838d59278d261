#include "daemon/engine/memory/facts.h"

#include "common/stretto_assert.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/job.h"

#include <stdlib.h>
#include <utlist.h>

struct fact *fact_post(struct engine *engine, enum fact_kind kind, int64_t ensemble, int64_t job)
{
    struct fact *fact = xcalloc(1, sizeof *fact);

    stretto_assert(ensemble > 0);
    fact->kind = kind;
    fact->ensemble = ensemble;
    fact->job = job;
    DL_APPEND(engine->to_settle.facts, fact);
    return fact;
}

static const json_t *keep_json(const json_t *json)
{
    return json_incref((json_t *)json);
}

void fact_attempt_ended(struct engine *engine, const struct live_job *job, const struct slot *slot,
                        const struct attempt_end *end)
{
    struct fact *fact = fact_post(engine, FACT_ATTEMPT_ENDED, job->row.ensemble, job->row.id);

    stretto_assert(slot >= job->slots && slot < job->slots + job->n_slots);
    fact->slot = (size_t)(slot - job->slots);
    fact->of.attempt = *end;
    fact->of.attempt.resumed = keep_json(end->resumed);
    fact->of.attempt.checkpoints = keep_json(end->checkpoints);
    fact->of.attempt.artefacts = keep_json(end->artefacts);
    fact->of.attempt.ran = keep_json(end->ran);
}

void fact_to_stop(struct engine *engine, int64_t ensemble, const char *reason)
{
    struct fact *fact = fact_post(engine, FACT_TO_STOP, ensemble, 0);

    text_copy(fact->of.reason, sizeof fact->of.reason, reason);
}

struct fact *fact_take(struct engine *engine)
{
    struct fact *fact = engine->to_settle.facts;

    if (fact != NULL)
        DL_DELETE(engine->to_settle.facts, fact);
    return fact;
}

void fact_free(struct fact *fact)
{
    if (fact->kind == FACT_ATTEMPT_ENDED) {
        json_decref((json_t *)fact->of.attempt.resumed);
        json_decref((json_t *)fact->of.attempt.checkpoints);
        json_decref((json_t *)fact->of.attempt.artefacts);
        json_decref((json_t *)fact->of.attempt.ran);
    }
    free(fact);
}
