/* Building the engine's memory from the store, and freeing it. */
#include "daemon/engine/load.h"

#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/ensembles/adopt.h"
#include "daemon/engine/ensembles/schedule.h"
#include "daemon/engine/jobs/cancel.h"
#include "daemon/engine/jobs/duplicates.h"
#include "daemon/engine/jobs/feed.h"
#include "daemon/engine/jobs/job_life.h"
#include "daemon/engine/jobs/pilot_life.h"
#include "daemon/engine/jobs/poll.h"
#include "daemon/engine/members/cancel_member.h"
#include "daemon/engine/members/stop_only.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/facts.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/job_event.h"
#include "daemon/engine/memory/pilot.h"
#include "daemon/engine/memory/training.h"
#include "daemon/engine/trainings/ranks.h"
#include "daemon/store/series.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

void engine_forget(struct engine *engine)
{
    struct live_ensemble *ens, *next_ens;
    struct live_job *job, *next_job;
    struct known_adapter *adapter, *next_adapter;
    struct left_alone *left, *next_left;
    struct fact *fact;

    engine->epoch++;
    LL_FOREACH_SAFE (engine->left_alone, left, next_left) {
        free(left->why);
        free(left);
    }
    engine->left_alone = NULL;
    while ((fact = fact_take(engine)) != NULL)
        fact_free(fact);
    engine->withdrawals.under_way = engine->withdrawals.failed = engine->feeds.orders = 0;
    HASH_ITER (hh, engine->jobs, job, next_job)
        job_destroy(engine, job);
    HASH_ITER (hh, engine->ensembles, ens, next_ens)
        ensemble_drop(engine, ens);
    HASH_ITER (hh, engine->adapters, adapter, next_adapter) {
        adapter->polls.polling = adapter->polls.poked = false;
        duplicate_settle(engine, adapter, false);
        alarm_set(engine, &adapter->polls.poll, INT64_MAX);
        alarm_set(engine, &adapter->presence.look, INT64_MAX);
    }
}

struct loading {
    struct engine *engine;
    struct ensemble_row *rows;
    struct job_row *jobs;
    size_t n_rows, n_jobs;
};

static int keep_ensemble(void *arg, const struct ensemble_row *row)
{
    struct loading *loading = arg;

    loading->rows = xrealloc(loading->rows, loading->n_rows + 1, sizeof *row);
    loading->rows[loading->n_rows++] = *row;
    return 0;
}

static int keep_job(void *arg, const struct job_row *row)
{
    struct loading *loading = arg;

    loading->jobs = xrealloc(loading->jobs, loading->n_jobs + 1, sizeof *row);
    loading->jobs[loading->n_jobs++] = *row;
    return 0;
}

static void leave_alone(struct engine *engine, int64_t ensemble, const char *why)
{
    struct left_alone *left = xcalloc(1, sizeof *left);

    *left = (struct left_alone){.ensemble = ensemble, .why = xstrdup(why)};
    LL_PREPEND(engine->left_alone, left);
    log_error_of(LOG_ENSEMBLE(ensemble), "ensemble %lld is left alone: %s", (long long)ensemble, why);
}

static void adopt_ensembles(struct loading *loading)
{
    int64_t now = engine_now(loading->engine);

    for (size_t i = 0; i < loading->n_rows; i++) {
        struct spec *spec = NULL;
        struct live_ensemble *ens;
        struct error err = {.text = ""};

        if (engine_check_adapter(loading->engine, &loading->rows[i], &err) < 0 ||
            engine_spec(loading->engine, loading->rows[i].id, &spec, &err) == NULL) {
            leave_alone(loading->engine, loading->rows[i].id, err.text);
            continue;
        }
        ens = ensemble_adopt(loading->engine, &loading->rows[i], spec);
        if (ens == NULL) {
            leave_alone(loading->engine, loading->rows[i].id, "its training cannot be read");
            continue;
        }
        if (store_member_wait_at_most(loading->engine->store, ens->row.id, now, now + BACKOFF_MAX_MS, &err) < 0)
            store_doom(loading->engine->store, &err);
        engine_touch(loading->engine, ens);
    }
}

static int add_slot(void *arg, const struct attempt_row *row)
{
    struct live_job *job = arg;

    job->slots = xrealloc(job->slots, job->n_slots + 1, sizeof *job->slots);
    job->slots[job->n_slots++] =
        (struct slot){.index = row->index, .number = row->number, .open = true, .rung = row->rung};
    job->open++;
    job_find_resources(job);
    job->found.started = job->found.started || row->end.started_ms != 0;
    return 0;
}

static int read_members(struct engine *engine, struct live_job *job, struct error *err)
{
    for (size_t i = 0; i < job->n_slots; i++) {
        struct slot *slot = &job->slots[i];
        struct member_row member;
        int rc = store_member_get(engine->store, job->row.ensemble, slot->index, &member, err);

        if (rc < 0)
            return -1;
        if (rc == 0)
            return error_set(err, "store_io", "member %lld.%lld has an attempt and no row",
                             (long long)job->row.ensemble, (long long)slot->index);
        slot->failures = member.failures;
        slot->losses = member.losses;
        slot->stalls = member.stalls;
        slot->since = member.since;
        slot->since_in = member.since_in;
        if (store_series_file_read(engine->store, job->row.ensemble, slot->index, slot->number, &slot->points_read,
                                   err) < 0)
            return -1;
        rc = cancel_member_asked(engine, job->ensemble, slot->index, err);
        if (rc < 0)
            return -1;
        slot->order = rc == 1 ? SLOT_CANCELLED : SLOT_TO_ITS_END;
        if (rc == 0 && (rc = stop_only_asked(engine, job, slot, err)) == 1)
            slot->order = SLOT_STOPPED;
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* Its pilot was over when the daemon died: its files say what became of it. */
static void lose_pilot(struct engine *engine, struct live_job *job)
{
    job_post(engine, job, EVENT_TOLD_ENDED);
    snprintf(job->told.gone_reason, sizeof job->told.gone_reason, "its allocation has ended");
    if (job->row.state == JOB_INTENT)
        job_post(engine, job, EVENT_ORPHANED);
    job_retry_in(engine, job, 0);
}

/* The ensemble that a job belongs to; NULL if it is not in memory, which was told, or cannot have such a job. */
static struct live_ensemble *ensemble_of(struct engine *engine, const struct job_row *row)
{
    struct live_ensemble *ens = engine_find_ensemble(engine, row->ensemble);

    if (ens == NULL)
        return NULL;
    if (row->kind == JOB_TRAINING ? ens->training == NULL
                                  : (row->kind == JOB_PILOT || row->pilot != 0) && ens->allocation == NULL) {
        log_error_of(LOG_JOB(row->ensemble, row->name),
                     "job %s is of the kind \"%s\", of which ensemble %lld has none; it is left alone", row->name,
                     job_kind_name(row->kind), (long long)row->ensemble);
        return NULL;
    }
    if (row->kind == JOB_TRAINING && (ens->training->job != NULL || !training_is_under_way(&ens->training->row))) {
        log_error_of(LOG_JOB(row->ensemble, row->name),
                     "job %s is not the one of training %lld, which is %s; it is left alone", row->name,
                     (long long)ens->training->row.id, training_state_name(ens->training->row.state));
        return NULL;
    }
    if (row->size < 1 || row->size > (row->kind == JOB_TRAINING ? SPEC_RANKS_MAX : SPEC_PACK_MAX)) {
        log_error_of(LOG_JOB(row->ensemble, row->name),
                     "job %s has %lld tasks, which no job can have; it is left alone", row->name, (long long)row->size);
        return NULL;
    }
    return ens;
}

static int adopt_jobs(struct loading *loading, struct error *err)
{
    struct engine *engine = loading->engine;

    for (size_t i = 0; i < loading->n_jobs; i++) {
        const struct job_row *row = &loading->jobs[i];
        struct live_ensemble *ens = ensemble_of(engine, row);
        struct live_job *job = ens ? job_new(engine, ens, row, true) : NULL;

        if (job == NULL)
            continue;
        if (row->kind == JOB_PILOT)
            pilot_begin(engine, job);
        pilot_bind(engine, job);
        job->found.look = true;
        if (row->cancel) /* nobody knows whether the order was given */
            cancel_gather(engine, ens, false);
        if (row->state == JOB_INTENT) { /* nobody was left to count a possible submission */
            job->row.submissions++;
            if (store_job_update(engine->store, &job->row, err) < 0)
                return -1;
        }
        job_file(engine, job);
        if (row->kind == JOB_MEMBERS) {
            if (store_attempt_each_open(engine->store, row->id, add_slot, job, err) < 0 ||
                read_members(engine, job, err) < 0)
                return -1;
            ens->in_flight += (int64_t)job->open;
            ens->begun = ens->begun || job->found.started;
            if (job->found.started)
                feed_begin(engine, job);
            if (job_is_inside(job) && job->node == NULL)
                lose_pilot(engine, job);
            continue;
        }
        if (row->kind == JOB_PILOT) {
            add_slot(job, &(struct attempt_row){.number = 1});
            job->found.started = row->state == JOB_RUNNING;
            job->pilot->begun = job->found.started;
            continue;
        }
        for (int64_t rank = 0; rank < row->size; rank++)
            add_slot(job, &(struct attempt_row){.index = rank, .number = ens->training->row.generation});
        job->found.started = row->state == JOB_RUNNING;
        ens->training->job = job;
        alarm_set(engine, &ens->training->look, engine_now(engine));
    }
    return 0;
}

/* Cancelled or complete, but not every job was marked yet when the daemon died. */
static void resume_cancels(struct engine *engine)
{
    for (struct live_ensemble *ens = engine->ensembles; ens != NULL; ens = ens->hh.next)
        if (ensemble_is_over(&ens->row))
            ens->cancels.from = ens->jobs;
}

/* A training whose job had ended, but that was not concluded when the daemon died: one that was older than this, and
 * wrote the two in turns of their own. */
static void resume_conclusions(struct engine *engine)
{
    struct live_ensemble *ens, *next;

    HASH_ITER (hh, engine->ensembles, ens, next) {
        if (ens->training != NULL && ens->training->job == NULL && training_is_under_way(&ens->training->row))
            training_read_rest(engine, ens); /* the done records decide */
    }
}

/* Enters the ensembles with trainings before any places beside them are given: the first ensemble that is dispatched
 * may be one with allocations. */
static void resume_waiting(struct engine *engine)
{
    for (struct live_ensemble *ens = engine->ensembles; ens != NULL; ens = ens->hh.next)
        if (ens->training != NULL)
            schedule_enter(engine, ens);
}

int engine_load(struct engine *engine, struct error *err)
{
    struct loading loading = {.engine = engine};
    struct known_adapter *adapter, *next;
    int64_t failures = store_failures(engine->store);
    int rc;

    engine_forget(engine);
    engine->resting = false;
    engine->ports.random(engine->ports.arg, &engine->nonce, sizeof engine->nonce);
    rc = store_check_present(engine->store, err);
    if (rc == 0)
        rc = store_ensemble_each_live(engine->store, keep_ensemble, &loading, err);
    if (rc == 0)
        rc = store_job_each_live(engine->store, keep_job, &loading, err);
    if (rc == 0) {
        adopt_ensembles(&loading);
        rc = adopt_jobs(&loading, err);
    }
    if (rc == 0 && store_failures(engine->store) != failures) /* a half would be taken for the whole */
        rc = error_set(err, "store_io", "the state cannot be read whole: %s", store_last_failure(engine->store));
    if (rc == 0) {
        resume_cancels(engine);
        resume_conclusions(engine);
        resume_waiting(engine);
        if (loading.n_rows > 0 && engine->rest.ms == 0)
            log_info("%zu ensembles and %zu jobs are under way", loading.n_rows, loading.n_jobs);
        HASH_ITER (hh, engine->adapters, adapter, next)
            poll_resume(engine, adapter);
        /* touched ensembles are dispatched at the first tick, not inside the caller that asked for the load */
        engine_wake_by(engine, engine_now(engine));
    }
    free(loading.rows);
    free(loading.jobs);
    if (rc < 0) {
        engine_forget(engine);
        engine->resting = true;
    }
    return rc;
}
