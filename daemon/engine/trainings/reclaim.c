#include "daemon/engine/trainings/reclaim.h"

#include "common/log_changes.h"
#include "daemon/engine/jobs/cancel.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/job_event.h"
#include "daemon/engine/memory/places.h"
#include "daemon/engine/memory/training.h"

#define LOOK_MS 10000 /* between looks: a place that is free is taken in less */

/* Returns whether the generation has yet to begin, while members hold places that were begun for the one before. */
static bool training_waits(const struct live_ensemble *ens)
{
    const struct training *training = ens->training;
    const struct live_job *job = training->job;

    return training->row.generation > 1 && ens->in_flight > 0 && !ensemble_is_stopped(&ens->row) &&
           (training->row.state == TRAINING_PENDING ||
            (training->row.state == TRAINING_SUBMITTED && job != NULL && job->state.belief != BELIEF_RUNNING));
}

void reclaim_wait(struct engine *engine, struct live_ensemble *ens)
{
    if (ens->training->row.generation > 1 && ens->training->row.state < TRAINING_RUNNING)
        alarm_set(engine, &ens->training->reclaim, engine_now(engine) + LOOK_MS);
}

/* Returns whether the training would come nearer to its start if members were stopped. That is so if it lacks places
 * that they hold. It is also so if it has no job, and waits for other trainings to end (schedule_may_train()) whose
 * members find no place because of these. */
static bool lacks_places(struct engine *engine, const struct live_ensemble *ens)
{
    const struct training *training = ens->training;
    bool lacks, has_job = training->job != NULL;

    if (!has_job && !adapter_takes_jobs(engine, training->adapter))
        return false;
    lacks = places_are_full(engine, training->adapter, has_job ? NULL : &ens->spec->training.resources);
    if (ens->adapter == training->adapter && lacks)
        return true;
    return (lacks || !has_job) && places_take_no_members(engine, ens);
}

/* Gives an allocation back, and stops the members in it. Returns how many. */
static int64_t give_back_allocation(struct engine *engine, struct live_ensemble *ens, struct live_job *pilot)
{
    int64_t stopped = 0;

    for (struct live_job *job = ens->jobs; job != NULL; job = job->ens_next) {
        if (job->row.pilot != pilot->row.id || job->row.cancel || job->open == 0)
            continue;
        stopped += (int64_t)job->open;
        job_cancel(engine, job);
    }
    job_cancel(engine, pilot);
    return stopped;
}

/* Stops the youngest members until there is room. Those in an allocation hold their places through it, so the youngest
 * allocation is given back with all of its members. Returns how many. */
static int64_t stop_members(struct engine *engine, struct live_ensemble *ens)
{
    struct live_job *job;
    int64_t stopped = 0;

    /* from the youngest on: the first one's `prev` is the last */
    for (job = ens->jobs != NULL ? ens->jobs->ens_prev : NULL; job != NULL && lacks_places(engine, ens);
         job = job == ens->jobs ? NULL : job->ens_prev) {
        if (job->row.kind == JOB_TRAINING || job_is_inside(job) || job->row.cancel || job->open == 0)
            continue;
        if (job->row.kind == JOB_PILOT) {
            stopped += give_back_allocation(engine, ens, job);
            continue;
        }
        stopped += (int64_t)job->open;
        job_cancel(engine, job);
    }
    return stopped;
}

void reclaim_look(struct engine *engine, struct alarm *alarm)
{
    struct training *training = heap_entry(alarm, struct training, reclaim);
    struct live_ensemble *ens = training->ensemble;
    int64_t stopped;

    if (training->row.state >= TRAINING_RUNNING)
        return;
    alarm_set(engine, alarm, engine_now(engine) + LOOK_MS);
    stopped = training_waits(ens) ? stop_members(engine, ens) : 0;
    if (stopped == 0)
        return;
    engine_event(
        engine, "training.reclaimed", ens->row.id, -1,
        json_pack("{s:I, s:I}", "generation", (json_int_t)training->row.generation, "stopped", (json_int_t)stopped));
    log_change(
        LOG_LEVEL_INFO, LOG_TRAINING(ens->row.id, training->row.id),
        "training %lld: generation %lld waits for places that its own members hold: %lld attempts are stopped, and "
        "begin again when it runs",
        (long long)training->row.id, (long long)training->row.generation, (long long)stopped);
    engine_touch(engine, ens);
}
