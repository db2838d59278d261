/* The life of a job: its files are written, it is submitted, runs and ends. */
#include "daemon/engine/jobs/job_life.h"

#include "common/log.h"
#include "common/stretto_assert.h"
#include "common/text.h"
#include "daemon/engine/jobs/abandon.h"
#include "daemon/engine/jobs/cancel.h"
#include "daemon/engine/jobs/collect.h"
#include "daemon/engine/jobs/duplicates.h"
#include "daemon/engine/jobs/feed.h"
#include "daemon/engine/jobs/pilot_life.h"
#include "daemon/engine/jobs/plan.h"
#include "daemon/engine/jobs/save.h"
#include "daemon/engine/jobs/waiting.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/facts.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/job_event.h"
#include "daemon/engine/memory/paths.h"
#include "daemon/engine/memory/places.h"
#include "daemon/engine/memory/training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELD_MS 20 /* between looks at directories that are just being removed */

static void job_submit(struct engine *engine, struct live_job *job, const char *descriptor)
{
    char *dir = engine_job_dir(engine, job);
    struct adapter_job ajob;

    plan_adapter_job(job, dir, &ajob);
    stretto_assert(job->row.state == JOB_INTENT && job->open > 0 && !job_is_unwanted(job));
    ajob.descriptor = descriptor;
    job_post(engine, job, EVENT_SENDING);
    job->row.submissions++;
    job_scheduler(job)->submit(engine, job, &ajob);
    free(dir);
}

/* Has the job tried again after a while. The reason is shown to users, and logged once. */
static void wait_for_files(struct engine *engine, struct live_job *job, const char *why)
{
    if (strcmp(job_words(job), why) != 0)
        log_warn_of(LOG_JOB(job->row.ensemble, job->row.name), "job %s waits: %s", job->row.name, why);
    job_note_waits_for(job, why);
    job_retry_in(engine, job, FILE_RETRY_MS);
}

static void wait_for_parameters(struct engine *engine, struct live_job *job)
{
    char why[sizeof((struct error *)NULL)->text];

    snprintf(why, sizeof why,
             "parameters of ensemble %lld cannot be read: its copy of the parameter file, %s, is not what it was when "
             "it was made, and has to be restored before the daemon is started again",
             (long long)job->row.ensemble, params_path(job->ensemble->spec->params));
    wait_for_files(engine, job, why);
}

static void job_written(void *arg, const struct error *failed)
{
    struct engine *engine;
    struct live_job *job = job_answered(arg, EVENT_WRITTEN, &engine);

    if (job == NULL)
        return;
    if (failed != NULL) {
        wait_for_files(engine, job, failed->text);
    } else {
        job->written = true;
        job_touch(engine, job);
    }
    engine_settle(engine);
}

/* Fails the members, or the whole training, whose arguments cannot be given to any program: retries cannot help. */
static void fail_refused(struct engine *engine, struct live_job *job, const struct job_plan *plan)
{
    for (size_t i = 0; i < plan->n_refused; i++) {
        struct attempt_end end = {
            .outcome = ATTEMPT_FAILED, .exit_code = -1, .ended_ms = engine_now(engine), .final = true};

        text_copy(end.reason, sizeof end.reason, plan->refused[i].reason);
        job_close_slot(engine, job, &job->slots[plan->refused[i].slot], &end);
    }
}

/* Returns whether the directory of one of the job's members is just being removed, which takes a moment. */
static bool job_is_held(const struct engine *engine, const struct live_job *job)
{
    for (size_t i = 0; engine->ports.held != NULL && job->row.kind == JOB_MEMBERS && i < job->n_slots; i++)
        if (engine->ports.held(engine->ports.arg, job->row.ensemble, job->slots[i].index))
            return true;
    return false;
}

static void job_start(struct engine *engine, struct live_job *job)
{
    struct job_plan plan;

    if (job_is_held(engine, job)) {
        job_retry_in(engine, job, HELD_MS);
        return;
    }
    if (job_is_unwanted(job)) {
        job_abandon(engine, job, ATTEMPT_CANCELLED, "cancelled before it was submitted");
        return;
    }
    if (job->open == 0) { /* all its attempts have ended */
        job_over(engine, job, "");
        return;
    }
    if (!job_scheduler(job)->takes(job)) {
        job_abandon(engine, job, ATTEMPT_LOST, "its allocation has ended before it started");
        return;
    }
    if (job->written && !job_scheduler(job)->hands_over) {
        job_submit(engine, job, NULL);
        return;
    }
    plan_job(engine, job, &plan);
    if (plan.failed) {
        plan_drop(&plan);
        wait_for_parameters(engine, job);
        return;
    }
    if (plan.n_refused > 0) {
        fail_refused(engine, job, &plan);
        plan_drop(&plan);
        job_touch(engine, job); /* the slots that are left are not refused */
        return;
    }
    if (job->written || plan.n_files == 0) {
        job_submit(engine, job, plan.descriptor);
        plan_drop(&plan);
        return;
    }
    free(plan.descriptor); /* made again when needed: only trainings have a descriptor and files */
    job_post(engine, job, EVENT_WRITING);
    engine->ports.rundir_ops->write(engine->ports.rundir, plan.dirs, plan.n_dirs, plan.files, plan.n_files, job_written,
                                    ticket_new(engine, job->row.id));
}

/* Ends a job that is over, once all is read that it wrote. */
static void job_finish(struct engine *engine, struct live_job *job)
{
    struct error err;

    if ((job->pilot != NULL && !pilot_is_finished(engine, job)) || !duplicate_is_swept(engine, job))
        return;
    if (job->row.kind == JOB_TRAINING && job->ensemble->training->state.stage != STAGE_ALL_READ) {
        fact_post(engine, FACT_JOB_OVER, job->row.ensemble, job->row.id);
        return;
    }
    stretto_assert(job->open == 0); /* the caller that found it to be over has closed its slots */
    job_post(engine, job, EVENT_OVER);
    job->row.ended_ms = engine_now(engine);
    store_job_update(engine->store, &job->row, &err);
    if (job->pilot != NULL)
        pilot_tell_end(engine, job);
    if (job->row.kind == JOB_TRAINING)
        fact_post(engine, FACT_JOB_ENDED, job->row.ensemble, job->row.id);
    if (job->row.kind != JOB_PILOT && job->state.proof != PROOF_SEALED) /* a sealed job has never run */
        places_note_run(job);
    engine_touch(engine, job->ensemble);
}

void job_step(struct engine *engine, struct live_job *job)
{
    stretto_assert(job->row.state != JOB_ENDED && !job->touched.is);
    if (job_cancel_is_due(engine, job)) /* also while its files are being read, which may take long */
        job_send_cancel(engine, job);
    if (job->state.pending != PENDING_NONE)
        return;
    if (job->ending.over) {
        job_finish(engine, job);
        return;
    }
    if (!job_is_asked(job)) /* after a restart or a lost answer the scheduler must first say whether it has the job */
        return;
    if (job->state.belief == BELIEF_RETURNED) {
        job_abandon(engine, job, job_is_unwanted(job) ? ATTEMPT_CANCELLED : ATTEMPT_LOST, job->told.gone_reason);
        return;
    }
    if (job->row.state == JOB_INTENT) {
        job_start(engine, job);
        return;
    }
    if (job->found.look || job_is_gone(job))
        job_collect(engine, job);
}

void job_destroy(struct engine *engine, struct live_job *job)
{
    feed_end(engine, job);
    job_saved(engine, job);
    pilot_unbind(job);
    pilot_free(engine, job->pilot);
    job->pilot = NULL;
    job_free(engine, job);
}
