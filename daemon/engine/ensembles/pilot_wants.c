/* Decides how many pilots an ensemble is to have, and which of their nodes gets the next job of its members.
 *
 * A node is given what it can run at once, and a little more if jobs are short, so that the next one is there when one
 * ends. It gets no job that could neither end in the time that is left, nor reach a checkpoint; the pilot itself checks
 * that, too. Another pilot is requested while members wait that the present pilots cannot run. It is also requested
 * before one ends, by as much as the last pilot had to wait in the queue. */
#include "daemon/engine/ensembles/pilot_wants.h"

#include "common/lesser.h"
#include "common/log_changes.h"
#include "common/xalloc.h"
#include "daemon/engine/ensembles/make_jobs.h"
#include "daemon/engine/ensembles/schedule.h"
#include "daemon/engine/jobs/cancel.h"
#include "daemon/engine/jobs/pilot_life.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/pilot.h"
#include "daemon/engine/memory/pilot_size.h"

#include <stdlib.h>
#include <string.h>

#define AHEAD_MS 2000      /* of work waits on a node: more than it takes to learn of an end and hand over */
#define AHEAD_RUN_MS 10000 /* longer jobs wait here, where any node may take them */
#define AHEAD_MAX 2048

/* Is there time for a member in it, `later` from now? */
static bool has_time(const struct pilot *pilot, int64_t later)
{
    return pilot->deadline_ms == 0 || later + spec_least_time_ms(pilot->job->ensemble->spec) <= pilot->deadline_ms;
}

static bool takes_jobs(const struct pilot *pilot, int64_t now)
{
    return !pilot->job->row.cancel && !pilot->job->ending.over && has_time(pilot, now);
}

static int64_t jobs_ahead(const struct allocation *alloc, int64_t fits)
{
    if (alloc->run_ms == 0 || alloc->run_ms > AHEAD_RUN_MS)
        return 0;
    return lesser(1 + fits * AHEAD_MS / alloc->run_ms, AHEAD_MAX);
}

/* The node with the most room: those where a job starts at once go first. */
static struct pilot_node *roomiest_node(const struct allocation *alloc, int64_t now)
{
    struct pilot_node *best = NULL;
    int64_t most = 0;

    for (struct pilot *pilot = alloc->pilots; pilot != NULL; pilot = pilot->next) {
        for (int64_t i = 0; i < pilot->n_nodes && takes_jobs(pilot, now); i++) {
            struct pilot_node *node = &pilot->nodes[i];
            int64_t more =
                        node->ready && node->whole && !node->over && !node->closed ? jobs_ahead(alloc, node->fits) : 0,
                    room;

            if (!node->ready || !node->whole || node->over || node->closed)
                continue;
            room = node->fits - node->jobs;
            room = room > 0 ? room + AHEAD_MAX : room + more;
            if (room > most) {
                most = room;
                best = node;
            }
        }
    }
    return best;
}

static void give_work(struct engine *engine, struct live_ensemble *ens, int64_t now)
{
    struct pilot_node *node;

    while (ensemble_wants(ens, now) && engine_has_room(engine) &&
           (node = roomiest_node(ens->allocation, now)) != NULL) {
        int64_t n;

        if (engine->budget <= 0) { /* the rest after the next tick, which comes at once */
            alarm_set(engine, &ens->allocation->wake, now);
            return;
        }
        n = make_job(engine, ens, node, now);
        if (n <= 0) /* nothing is left; or the turn is rolled back, and memory rebuilt */
            return;
        engine->budget -= n;
    }
}

static bool pilot_nodes_are_over(const struct pilot *pilot)
{
    bool all = true;

    for (int64_t i = 0; i < pilot->n_nodes; i++)
        all = all && pilot->nodes[i].over;
    return all || pilot->job->row.cancel || pilot->job->ending.over;
}

/* None of its nodes takes another job, whatever its time. */
static bool is_closed(const struct pilot *pilot)
{
    for (int64_t i = 0; i < pilot->n_nodes; i++)
        if (!pilot->nodes[i].over && !pilot->nodes[i].closed)
            return false;
    return true;
}

/* Members that wait now, or are in flight: 0 if that cannot be read. */
static int64_t to_run(struct engine *engine, const struct live_ensemble *ens)
{
    int64_t tally[MEMBER_STATE_COUNT];
    struct error err;

    if (ens->due > engine_now(engine)) /* of those that were tried before, none does */
        return ens->row.count - ens->row.next_index + ens->in_flight;
    return store_tally_get(engine->store, ens->row.id, tally, &err) < 0 ? 0 : tally[MEMBER_PENDING] + ens->in_flight;
}

/* Returns how many pilots could be of use at once. */
static int64_t pilots_wanted(struct engine *engine, const struct live_ensemble *ens)
{
    const struct spec *spec = ens->spec;
    int64_t fits = ens->allocation->fits, count = spec->allocation.count, members, jobs;

    if (fits == 0 && spec->allocation.cpus > 0)
        fits = spec->allocation.resources.nodes *
               pilot_fits(spec, spec->allocation.cpus, spec->allocation.gpus, INT64_MAX);
    if (fits <= 0)
        return count;
    members = lesser(ens->row.width, to_run(engine, ens));
    if (members < 1)
        members = 1;
    jobs = (members + spec->pack - 1) / spec->pack;
    return lesser(count, (jobs + fits - 1) / fits);
}

static void ask_for_one(struct engine *engine, struct live_ensemble *ens, int64_t now)
{
    struct job_row row = {.ensemble = ens->row.id, .kind = JOB_PILOT, .size = 1, .created_ms = now};
    struct adapter_resources r = pilot_resources(ens->adapter, ens->spec);
    struct live_job *job;
    struct error err;

    if (ens->spec->allocation.resources.whole_nodes && !r.whole_nodes)
        row.cpus = r.cpus_per_task;
    memcpy(row.adapter, ens->row.adapter, sizeof row.adapter);
    if (engine_insert_job(engine, &row, &err) < 0)
        return;
    job = job_new(engine, ens, &row, false);
    if (job == NULL)
        return;
    pilot_begin(engine, job);
    job->slots = xcalloc(1, sizeof *job->slots);
    job->slots[0] = (struct slot){.number = 1, .open = true};
    job->n_slots = job->open = 1;
    engine_event(engine, "allocation.submitted", ens->row.id, -1, json_pack("{s:s}", "job", row.name));
    log_change(LOG_LEVEL_INFO, LOG_JOB(ens->row.id, row.name), "ensemble %lld asks for an allocation, as job %s",
               (long long)ens->row.id, row.name);
    job_start_committed(engine, job);
}

/* One that will soon take no more has its successor asked for, in good time. */
static void see_to_successors(struct engine *engine, struct live_ensemble *ens, int64_t now)
{
    struct allocation *alloc = ens->allocation;
    int64_t staying = 0, all = 0, next = INT64_MAX, count = pilots_wanted(engine, ens);

    for (struct pilot *pilot = alloc->pilots; pilot != NULL; pilot = pilot->next) {
        if (pilot_nodes_are_over(pilot))
            continue;
        all++;
        if (!has_time(pilot, now + alloc->queue_ms) || is_closed(pilot))
            continue;
        staying++;
        if (pilot->deadline_ms != 0)
            next = lesser(next, pilot->deadline_ms - spec_least_time_ms(ens->spec) - alloc->queue_ms + 1);
    }
    if (staying < count && now < alloc->not_before)
        next = alloc->not_before;
    for (; staying < count && all < 2 * count && now >= alloc->not_before; staying++, all++)
        ask_for_one(engine, ens, now);
    if (next != INT64_MAX && (!heap_holds(&alloc->wake.node) || alloc->wake.node.key > next))
        alarm_set(engine, &alloc->wake, next);
}

/* Cancels pilots that still wait in the queue, and ask for more than the training leaves since it was resized: the two
 * could wait for each other for ever. Others are asked for instead. */
static void withdraw_oversized(struct engine *engine, struct live_ensemble *ens)
{
    int64_t cpus = pilot_resources(ens->adapter, ens->spec).cpus_per_task;

    for (struct pilot *pilot = ens->allocation->pilots; pilot != NULL; pilot = pilot->next)
        if (!pilot->job->found.started && !pilot->job->row.cancel && pilot->job->row.cpus > cpus)
            job_cancel(engine, pilot->job);
}

void pilot_dispatch(struct engine *engine, struct live_ensemble *ens)
{
    int64_t now = engine_now(engine);
    bool was_due = ens->due <= now;
    struct error err;

    withdraw_oversized(engine, ens);
    /* 0: some may be due. No allocation is asked for because of that. */
    if (ens->due <= 0 && store_member_next_due(engine->store, ens->row.id, &ens->due, &err) < 0) {
        store_doom(engine->store, &err);
        return;
    }
    give_work(engine, ens, now);
    if (ensemble_wants(ens, now) && schedule_fits_beside_trainings(ens) && adapter_takes_jobs(engine, ens->adapter))
        see_to_successors(engine, ens, now);
    if (was_due && ens->due > now)
        engine_touch(engine, ens); /* it is to be looked at again when they are */
}
