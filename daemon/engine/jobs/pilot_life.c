/* The life of a pilot: its job, and the jobs in it when that is over. */
#include "daemon/engine/jobs/pilot_life.h"

#include "common/log_changes.h"
#include "common/stretto_assert.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/jobs/pilot_inbox.h"
#include "daemon/engine/jobs/pilot_journal.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/facts.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/job_event.h"
#include "daemon/engine/memory/pilot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define LOOK_MS 1000    /* between looks into the journals if no message says that there is news */
#define FAILURES_MAX 10 /* pilots in a row in which nothing began, before the ensemble is given up */

static void pilot_wake(struct engine *engine, struct alarm *alarm)
{
    engine_touch(engine, heap_entry(alarm, struct allocation, wake)->ensemble);
}

struct allocation *allocation_new(struct live_ensemble *ens)
{
    struct allocation *alloc = xcalloc(1, sizeof *alloc);

    alloc->ensemble = ens;
    alloc->wake.ring = pilot_wake;
    alloc->scheduler = &pilot_scheduler;
    return alloc;
}

void allocation_free(struct engine *engine, struct allocation *alloc)
{
    if (alloc == NULL)
        return;
    alarm_set(engine, &alloc->wake, INT64_MAX);
    free(alloc);
}

static bool all_is_whole(const struct pilot *pilot)
{
    for (int64_t i = 0; i < pilot->n_nodes; i++)
        if (!pilot->nodes[i].whole)
            return false;
    return true;
}

static void pilot_look_due(struct engine *engine, struct alarm *alarm)
{
    struct pilot *pilot = heap_entry(alarm, struct pilot, look);

    if (pilot->finished)
        return;
    alarm_set(engine, &pilot->look, engine_now(engine) + LOOK_MS);
    if (pilot->finishing && all_is_whole(pilot))
        job_touch(engine, pilot->job); /* which waited for the jobs in it */
    else if (pilot->job->found.started || pilot->finishing)
        pilot_look(engine, pilot);
}

void pilot_begin(struct engine *engine, struct live_job *job)
{
    struct pilot *pilot = xcalloc(1, sizeof *pilot);

    pilot->job = job;
    pilot->n_nodes = job->ensemble->spec->allocation.resources.nodes;
    pilot->nodes = xcalloc((size_t)pilot->n_nodes, sizeof *pilot->nodes);
    for (int64_t i = 0; i < pilot->n_nodes; i++)
        pilot->nodes[i] = (struct pilot_node){.pilot = pilot, .number = i};
    pilot->look.ring = pilot_look_due;
    DL_APPEND(job->ensemble->allocation->pilots, pilot);
    job->pilot = pilot;
    alarm_set(engine, &pilot->look, engine_now(engine));
}

void pilot_free(struct engine *engine, struct pilot *pilot)
{
    if (pilot == NULL)
        return;
    for (struct live_job *job = pilot->job->ensemble->jobs; job != NULL; job = job->ens_next)
        if (job->node != NULL && job->node->pilot == pilot)
            job->node = NULL;
    alarm_set(engine, &pilot->look, INT64_MAX);
    for (int64_t i = 0; i < pilot->n_nodes; i++)
        pilot_take_back(engine, &pilot->nodes[i]);
    DL_DELETE(pilot->job->ensemble->allocation->pilots, pilot);
    free(pilot->nodes);
    free(pilot);
}

void pilot_bind(struct engine *engine, struct live_job *job)
{
    struct live_job *other = engine_find_job(engine, job->row.pilot);

    if (other == NULL || other->pilot == NULL || job->row.node < 0 || job->row.node >= other->pilot->n_nodes)
        return;
    job->node = &other->pilot->nodes[job->row.node];
    job->node->jobs++;
}

void pilot_unbind(struct live_job *job)
{
    stretto_assert(job->node == NULL || job->node->jobs > 0);
    if (job->node != NULL)
        job->node->jobs--;
    job->node = NULL;
}

static void pilot_release(struct engine *engine, struct live_job *job, const char *reason)
{
    pilot_unbind(job);
    if (!job_is_gone(job) && job->state.belief != BELIEF_RETURNED) {
        job_post(engine, job, EVENT_TOLD_ENDED);
        snprintf(job->told.gone_reason, sizeof job->told.gone_reason, "its allocation has ended%s%.200s",
                 reason[0] ? ": " : "", reason);
        if (job->row.state == JOB_INTENT && job->state.sent != SENT_NEVER)
            job_post(engine, job, EVENT_ORPHANED);
    }
    job_touch(engine, job);
}

bool engine_allocation(struct engine *engine, int64_t ensemble, struct engine_allocation *out)
{
    const struct live_ensemble *ens = engine_find_ensemble(engine, ensemble);

    if (ens == NULL || ens->allocation == NULL)
        return false;
    *out = (struct engine_allocation){.count = ens->spec->allocation.count};
    for (const struct pilot *pilot = ens->allocation->pilots; pilot != NULL; pilot = pilot->next) {
        out->asked += !pilot->job->found.started && !pilot->job->ending.over;
        out->running += pilot->job->found.started && !pilot->job->ending.over;
    }
    return true;
}

/* Counts a pilot in which nothing has begun, though it failed by itself or members waited for it. Others like it would
 * follow, again and again: if a pilot has less time than a member needs, or is idle before it is handed one. */
static void count_failure(struct engine *engine, const struct pilot *pilot)
{
    const struct live_job *job = pilot->job;
    struct live_ensemble *ens = job->ensemble;
    struct allocation *alloc = ens->allocation;
    bool failed = pilot->outcome != ATTEMPT_SUCCEEDED && pilot->outcome != ATTEMPT_OPEN;
    char what[sizeof pilot->reason + 20], why[sizeof what + 80];

    if (pilot->begun || job->row.cancel || (!failed && !ensemble_wants(ens, engine_now(engine))))
        return;
    snprintf(what, sizeof what, "%s: %s", failed ? attempt_outcome_name(pilot->outcome) : "given back",
             failed ? pilot->reason : pilot->given_back);
    log_change(LOG_LEVEL_WARN, LOG_JOB(ens->row.id, job->row.name), "pilot %s %s; nothing had begun in it",
               job->row.name, what);

    alloc->failures++;
    alloc->not_before = engine_now(engine) + engine_backoff(alloc->failures);
    if (alloc->failures < FAILURES_MAX || ensemble_ends_early(ens))
        return;
    snprintf(why, sizeof why, "%d allocations in a row ended before anything ran in them: %s", alloc->failures, what);
    fact_to_stop(engine, ens->row.id, why);
}

/* Writes the event of an allocation's end, in the turn in which its job ends. An end that was not committed is found
 * again after a restart. */
void pilot_tell_end(struct engine *engine, const struct live_job *job)
{
    engine_event(engine, "allocation.ended", job->row.ensemble, -1,
                 json_pack("{s:s, s:s, s:s}", "job", job->row.name, "outcome",
                           attempt_outcome_name(job->pilot->outcome), "reason", job->pilot->reason));
}

/* Returns whether a job in the pilot has exit records that are not stored yet, since something else is under way with
 * it. They stand nowhere but in its journal, which is read no more once the pilot has ended. */
static bool holds_records(const struct pilot *pilot)
{
    for (const struct live_job *job = pilot->job->ensemble->jobs; job != NULL; job = job->ens_next)
        if (job->found.records != NULL && job->node != NULL && job->node->pilot == pilot)
            return true;
    return false;
}

bool pilot_is_finished(struct engine *engine, struct live_job *job)
{
    struct pilot *pilot = job->pilot;

    if (pilot->finished)
        return true;
    if (!pilot->finishing) {
        pilot->finishing = true;
        for (int64_t i = 0; i < pilot->n_nodes; i++)
            pilot->nodes[i].whole = job->state.sent == SENT_NEVER;
        if (job->state.sent != SENT_NEVER)
            pilot_look(engine, pilot);
    }
    if (!all_is_whole(pilot) || holds_records(pilot))
        return false;
    pilot->finished = true;
    count_failure(engine, pilot);
    for (int64_t i = 0; i < pilot->n_nodes; i++)
        pilot_take_back(engine, &pilot->nodes[i]);
    for (struct live_job *inside = job->ensemble->jobs; inside != NULL; inside = inside->ens_next)
        if (inside->node != NULL && inside->node->pilot == pilot)
            pilot_release(engine, inside, job->row.reason);
    return true;
}
