#include "daemon/engine/members/youngest.h"

#include "daemon/engine/jobs/cancel.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"

static bool may_stop(const struct live_job *job)
{
    return job->row.kind == JOB_MEMBERS && !job->row.cancel && job->open > 0;
}

/* Cancels the youngest jobs, or only counts them, until no more than `width` attempts are left that are not being
 * stopped; at most `limit` jobs. Returns how many attempts that stops, and how many stay. outcome.c judges what a
 * cancelled job's attempts cost, by the job's cancel mark. The mark is on disk before the scheduler learns of it, so
 * that a restart in between changes nothing. */
static int64_t stop_youngest(struct engine *engine, struct live_ensemble *ens, int64_t width, int64_t limit,
                             bool cancel, int64_t *stay)
{
    struct live_job *job;
    int64_t staying = 0, stopped = 0;

    for (job = ens->jobs; job != NULL; job = job->ens_next)
        if (may_stop(job))
            staying += (int64_t)job->open;
    /* from the youngest on: the first one's `prev` is the last */
    for (job = ens->jobs ? ens->jobs->ens_prev : NULL; job != NULL && staying > width && limit > 0;
         job = job == ens->jobs ? NULL : job->ens_prev) {
        if (!may_stop(job))
            continue;
        staying -= (int64_t)job->open;
        stopped += (int64_t)job->open;
        limit--;
        if (cancel)
            job_cancel(engine, job);
    }
    *stay = staying;
    return stopped;
}

int youngest_stop(struct engine *engine, struct live_ensemble *ens, int64_t width, int limit)
{
    int64_t most = width > ens->row.width ? width : ens->row.width, staying;
    bool more = stop_youngest(engine, ens, most, limit, true, &staying) > 0 && staying > most;

    cancel_gather(engine, ens, more);
    return more;
}

int64_t youngest_beyond(struct engine *engine, struct live_ensemble *ens, int64_t width)
{
    int64_t staying;

    return stop_youngest(engine, ens, width, INT64_MAX, false, &staying);
}
