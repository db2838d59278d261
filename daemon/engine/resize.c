/* Elastic resizing: another width, and what becomes of the attempts beyond it. */
#include "daemon/engine/internal.h"

#include "common/log.h"
#include "common/xalloc.h"

#include <stdlib.h>

static int younger_first(const void *a, const void *b)
{
    const struct live_job *const *x = a, *const *y = b;

    return ((*x)->row.id < (*y)->row.id) - ((*x)->row.id > (*y)->row.id);
}

/* Cancel the youngest jobs until no more than `width` attempts are left that are not being stopped. Returns how many
 * attempts that stops. What a cancelled job's attempts cost is judged in outcome.c, by the job's cancel mark, which is on
 * disk before the scheduler hears of it: so a restart in between changes nothing. */
static int64_t stop_youngest(struct engine *engine, struct live_ensemble *ens, int64_t width)
{
    struct live_job **jobs = xcalloc(HASH_COUNT(engine->jobs) + 1, sizeof *jobs), *job, *next;
    int64_t staying = 0, stopped = 0;
    size_t n = 0;

    HASH_ITER (hh, engine->jobs, job, next) {
        if (job->ensemble != ens || job->row.kind != JOB_MEMBERS || job->row.cancel || job->open == 0)
            continue;
        jobs[n++] = job;
        staying += (int64_t)job->open;
    }
    qsort(jobs, n, sizeof jobs[0], younger_first);
    for (size_t i = 0; i < n && staying > width; i++) {
        staying -= (int64_t)jobs[i]->open;
        stopped += (int64_t)jobs[i]->open;
        job_cancel(engine, jobs[i]);
    }
    free(jobs);
    return stopped;
}

int engine_resize(struct engine *engine, int64_t id, int64_t width, enum engine_shrink shrink, struct error *err)
{
    struct live_ensemble *ens;
    int64_t before, stopped = 0;

    if (engine_open_ensemble(engine, id, &ens, err) < 0)
        return -1;
    before = ens->row.width;
    ens->row.width = width;
    if (width != before && store_ensemble_update(engine->store, &ens->row, err) < 0)
        return -1;
    if (shrink == ENGINE_SHRINK_NOW)
        stopped = stop_youngest(engine, ens, width);
    if (width != before || stopped > 0) {
        engine_event(engine, "ensemble.resized", id, -1,
                     json_pack("{s:I, s:I, s:I}", "width", (json_int_t)width, "before", (json_int_t)before, "stopped",
                               (json_int_t)stopped));
        log_info_of(LOG_ENSEMBLE(id), "ensemble %lld: width %lld, was %lld; %lld attempts are stopped",
                    (long long)id, (long long)width, (long long)before, (long long)stopped);
        ens->due = 0; /* those that were tried before go first */
        engine_touch(engine, ens);
    }
    engine_settle(engine);
    return 0;
}
