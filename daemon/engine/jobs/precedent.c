#include "daemon/engine/jobs/precedent.h"

#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"

#define PATIENCE_MS 86400000

bool precedent_waits(struct engine *engine, const struct live_job *job, bool queued, int64_t *until_ms)
{
    struct live_ensemble *ens = job->ensemble;
    int64_t now = engine_now(engine);
    struct error err;

    if (store_job_has_precedent(engine->store, &job->row, ens->row.parent, queued, &err) != 1)
        return false;
    if (ens->refused_ms == 0 || ens->refused_ms > now)
        ens->refused_ms = now;
    *until_ms = ens->refused_ms + PATIENCE_MS;
    return now < *until_ms;
}
