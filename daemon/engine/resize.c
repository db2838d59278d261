/* Elastic resizing: another width, and what becomes of the attempts beyond it. */
#include "daemon/engine/resize.h"

#include "common/log_changes.h"
#include "daemon/engine/bulk.h"
#include "daemon/engine/cancel.h"
#include "daemon/engine/core.h"
#include "daemon/engine/elastic.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/ensemble.h"
#include "daemon/engine/job.h"
#include "daemon/engine/training.h"
#include "daemon/store/bulk.h"
#include "daemon/store/job.h"

#include <stdio.h>

static bool may_stop(const struct live_job *job)
{
    return job->row.kind == JOB_MEMBERS && !job->row.cancel && job->open > 0;
}

/* The youngest jobs, until no more than `width` attempts are left that are not being stopped, but at most `limit` jobs:
 * cancel them, or only count. Returns how many attempts that stops, and how many stay. What a cancelled job's attempts
 * cost is judged in outcome.c, by the job's cancel mark, which is on disk before the scheduler hears of it: so a
 * restart in between changes nothing. */
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

/* What was asked for is that width; where it has grown since, that much may stay. */
int resize_stop(struct engine *engine, struct live_ensemble *ens, int64_t width, int limit)
{
    int64_t most = width > ens->row.width ? width : ens->row.width, staying;
    bool more = stop_youngest(engine, ens, most, limit, true, &staying) > 0 && staying > most;

    cancel_gather(engine, ens, more);
    return more;
}

static int resize(struct engine *engine, struct live_ensemble *ens, int64_t width, enum engine_shrink shrink,
                  const char *by, struct error *err)
{
    int64_t id = ens->row.id, before = ens->row.width, stopped = 0, staying;

    ens->row.width = width;
    if (width != before && store_ensemble_update(engine->store, &ens->row, err) < 0)
        return -1;
    if (shrink == ENGINE_SHRINK_NOW)
        stopped = stop_youngest(engine, ens, width, INT64_MAX, false, &staying);
    if (stopped > 0 &&
        bulk_begin(engine, ens, &(struct bulk){.kind = BULK_STOP, .ensemble = id, .next = width}, err) < 0)
        return -1;
    if (width != before || stopped > 0) {
        engine_event(engine, "ensemble.resized", id, -1,
                     json_pack("{s:I, s:I, s:I, s:s}", "width", (json_int_t)width, "before", (json_int_t)before,
                               "stopped", (json_int_t)stopped, "by", by));
        log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(id),
                   "ensemble %lld: width %lld, was %lld; %lld attempts are stopped: asked for %s", (long long)id,
                   (long long)width, (long long)before, (long long)stopped, by);
        ens->due = 0; /* those that were tried before go first */
        engine_touch(engine, ens);
    }
    return 0;
}

int resize_width(struct engine *engine, struct live_ensemble *ens, int64_t width, const char *by, struct error *err)
{
    return resize(engine, ens, width, ENGINE_SHRINK_LATER, by, err);
}

/* Checks that the ranks of the training, those of now and those that are wanted, have buffers for so many members. */
static int check_buffers(const struct live_ensemble *ens, int64_t width, struct error *err)
{
    const struct training_row *row = ens->training != NULL ? &ens->training->row : NULL;

    if (row == NULL || training_is_over(row) || width <= ens->row.width ||
        spec_check_ranks(ens->spec, row->ranks > row->wanted ? row->ranks : row->wanted, width, err) == 0)
        return 0;
    snprintf(err->pointer, sizeof err->pointer, "/width"); /* not into the spec, which nobody asked to change */
    return -1;
}

int engine_resize(struct engine *engine, int64_t id, int64_t width, enum engine_shrink shrink, const char *by,
                  struct error *err)
{
    struct live_ensemble *ens;

    if (engine_open_ensemble(engine, id, &ens, err) < 0 || check_buffers(ens, width, err) < 0 ||
        elastic_by_hand(engine, ens, ELASTIC_WIDTH, err) < 0 || resize(engine, ens, width, shrink, by, err) < 0)
        return -1;
    engine_settle(engine);
    return 0;
}
