/* The life of a job: its intent is committed, its files are written, it is submitted, runs and ends. */
#include "daemon/engine/job.h"

#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/engine/abandon.h"
#include "daemon/engine/adapter_state.h"
#include "daemon/engine/alarm.h"
#include "daemon/engine/cancel.h"
#include "daemon/engine/collect.h"
#include "daemon/engine/core.h"
#include "daemon/engine/duplicates.h"
#include "daemon/engine/ensemble.h"
#include "daemon/engine/feed.h"
#include "daemon/engine/job_event.h"
#include "daemon/engine/outcome.h"
#include "daemon/engine/paths.h"
#include "daemon/engine/pilot.h"
#include "daemon/engine/plan.h"
#include "daemon/engine/poll.h"
#include "daemon/engine/ranks.h"
#include "daemon/engine/save.h"
#include "daemon/engine/schedule.h"
#include "daemon/engine/training.h"
#include "daemon/engine/waiting.h"
#include "daemon/spec/needs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#define HELD_MS 20 /* between looks at directories that are just being removed */

static void retry(struct engine *engine, struct alarm *alarm)
{
    struct live_job *job = heap_entry(alarm, struct live_job, retry);

    job_post(engine, job, EVENT_TIMER);
    job_advance(engine, job);
}

const struct job_scheduler *job_scheduler(const struct live_job *job)
{
    return job_is_inside(job) ? &pilot_scheduler : &job->adapter->scheduler;
}

struct live_job *job_new(struct engine *engine, struct live_ensemble *ens, const struct job_row *row, bool loaded)
{
    struct known_adapter *adapter;
    struct live_job *job;

    HASH_FIND_STR(engine->adapters, row->adapter, adapter);
    if (adapter == NULL) {
        log_error_of(LOG_JOB(row->ensemble, row->name), "job %s: there is no adapter \"%s\" here; it is left alone",
                     row->name, row->adapter);
        return NULL;
    }
    job = xcalloc(1, sizeof *job);
    job->row = *row;
    job_states_init(&job->state, loaded);
    job->ensemble = ens;
    job->adapter = adapter;
    job->retry.ring = retry;
    HASH_ADD(hh, engine->jobs, row.id, sizeof job->row.id, job);
    DL_APPEND2(ens->jobs, job, ens_prev, ens_next);
    if (row->kind == JOB_PILOT) {
        job->pilot = pilot_new(job);
        alarm_set(engine, &job->pilot->look, engine_now(engine));
    }
    pilot_bind(engine, job);
    schedule_account(job, 1);
    return job;
}

void job_find_resources(struct live_job *job)
{
    struct error ignored; /* a member that has none is refused when its job is planned */

    if (job->own != NULL || job->n_slots == 0 || job->row.kind != JOB_MEMBERS ||
        job->ensemble->spec->members.needs == NULL)
        return;
    schedule_account(job, -1);
    job->own = xcalloc(1, sizeof *job->own);
    needs_of(job->ensemble->spec, job->slots[0].index, job->own, &ignored);
    schedule_account(job, 1);
}

static struct live_job **list_of(const struct live_job *job, enum job_list list)
{
    return list == JOB_LIST_UNASKED ? &job->adapter->unasked : &job->adapter->polled;
}

static void file_under(struct live_job *job, enum job_list list)
{
    struct known_adapter *adapter = job->adapter;

    if (job->list != JOB_LIST_NONE)
        DL_DELETE(*list_of(job, job->list), job);
    if (list != JOB_LIST_NONE)
        DL_APPEND(*list_of(job, list), job);
    adapter->n_unasked += (size_t)(list == JOB_LIST_UNASKED) - (job->list == JOB_LIST_UNASKED);
    adapter->n_polled += (size_t)(list == JOB_LIST_POLLED) - (job->list == JOB_LIST_POLLED);
    job->list = list;
}

void job_file(struct engine *engine, struct live_job *job)
{
    enum job_list list = JOB_LIST_NONE;
    bool polled = job_scheduler(job)->polled;

    if (polled && job->state.belief == BELIEF_UNASKED)
        list = JOB_LIST_UNASKED;
    else if (polled && job->state.belief >= BELIEF_QUEUED) /* also gone ones, which may come back until given up */
        list = JOB_LIST_POLLED;
    if (list == job->list)
        return;
    file_under(job, list);
    if (list != JOB_LIST_NONE)
        poll_linger(engine, job->adapter);
    if (list == JOB_LIST_UNASKED)
        poll_soon(engine, job->adapter);
    else if (list == JOB_LIST_POLLED)
        poll_by(engine, job->adapter, engine_now(engine) + job->adapter->poll_ms);
}

void job_post(struct engine *engine, struct live_job *job, enum job_event event)
{
    job_states_change(&job->state, &job->row.state, event);
    if (event == EVENT_TOLD_ENDED || event == EVENT_TOLD_FORGOTTEN)
        job->told.gone_ms = engine_now(engine);
    else if (event == EVENT_TOLD_QUEUED || event == EVENT_TOLD_RUNNING || event == EVENT_AGAIN)
        job->found.missing_ms = 0;
    job_file(engine, job);
}

void job_destroy(struct engine *engine, struct live_job *job)
{
    HASH_DEL(engine->jobs, job);
    feed_end(engine, job);
    file_under(job, JOB_LIST_NONE);
    alarm_set(engine, &job->retry, INT64_MAX);
    job_saved(engine, job);
    schedule_account(job, -1);
    if (job->ensemble->cancels.from == job)
        job->ensemble->cancels.from = job->ens_next;
    DL_DELETE2(job->ensemble->jobs, job, ens_prev, ens_next);
    pilot_unbind(job);
    pilot_free(engine, job->pilot);
    json_decref(job->found.records);
    free(job->told.waits_for);
    for (size_t i = 0; i < job->n_slots; i++)
        feed_forget(&job->slots[i]);
    free(job->slots);
    free(job->own);
    free(job->found.hosts);
    free(job);
}

void job_retry_in(struct engine *engine, struct live_job *job, int64_t ms)
{
    alarm_set(engine, &job->retry, engine_now(engine) + ms);
}

void job_fail_open(struct engine *engine, struct live_job *job, enum attempt_outcome outcome, const char *reason,
                   json_t *const *checkpoints)
{
    bool returned = job_scheduler(job)->returns_jobs && !job->found.started;
    int64_t now = engine_now(engine);
    size_t next = 0;

    for (size_t i = 0; i < job->n_slots; i++) {
        struct outcome out = {.outcome = outcome,
                              .exit_code = -1,
                              .started_ms = job->row.started_ms,
                              .ended_ms = now,
                              .final = outcome == ATTEMPT_FAILED,
                              .how = returned && outcome == ATTEMPT_LOST ? OUTCOME_UNSTARTED : OUTCOME_RAN};

        if (job->slots[i].open && checkpoints != NULL)
            out.checkpoints = checkpoints[next++];
        text_copy(out.reason, sizeof out.reason, reason);
        outcome_apply(engine, job, &job->slots[i], &out);
    }
}

void job_end(struct engine *engine, struct live_job *job, const char *reason)
{
    struct live_ensemble *ens = job->ensemble;
    struct error err;

    if (!job->ending.over)
        text_copy(job->row.reason, sizeof job->row.reason, reason);
    job->ending.over = true;
    if ((job->pilot != NULL && !pilot_is_finished(engine, job)) || !duplicate_is_swept(engine, job) ||
        (job->row.kind == JOB_TRAINING &&
         !training_read_rest(engine, ens, job->state.sent != SENT_NEVER && job->state.proof != PROOF_SEALED)))
        return;
    job_post(engine, job, EVENT_OVER);
    job->row.ended_ms = engine_now(engine);
    store_job_update(engine->store, &job->row, &err);
    if (job->pilot != NULL)
        pilot_tell_end(engine, job);
    if (job->row.kind == JOB_TRAINING) {
        ens->training->job = NULL;
        training_conclude(engine, ens);
        engine_touch_all(engine, job->adapter);
    }
    if (job->row.kind != JOB_PILOT && job->state.proof != PROOF_SEALED) /* a sealed job has never run */
        schedule_note_run(job);
    engine_touch(engine, ens);
    job_destroy(engine, job);
}

void job_note_submitted(struct engine *engine, struct live_job *job, enum job_event event, const char *scheduler_id)
{
    job_note_waits_for(job, "");
    job->ensemble->refused_ms = 0;
    job_post(engine, job, event);
    job->row.submitted_ms = engine_now(engine);
    if (scheduler_id != job->row.scheduler_id)
        text_copy(job->row.scheduler_id, sizeof job->row.scheduler_id, scheduler_id);
    if (job_scheduler(job)->sure) /* it can be found by name; other schedulers may lose it */
        job_save_later(engine, job);
    else
        job_save(engine, job);
}

struct live_job *job_of_ticket(void *ticket, struct engine **engine)
{
    int64_t id;

    *engine = ticket_redeem(ticket, &id);
    return *engine ? engine_find_job(*engine, id) : NULL;
}

struct live_job *job_answered(void *ticket, enum job_event event, struct engine **engine)
{
    struct live_job *job = job_of_ticket(ticket, engine);

    if (job != NULL)
        job_post(*engine, job, event);
    return job;
}

static void submit(struct engine *engine, struct live_job *job, const char *descriptor)
{
    char *dir = engine_job_dir(engine, job);
    struct adapter_job ajob;

    plan_adapter_job(job, dir, &ajob);
    ajob.descriptor = descriptor;
    job_post(engine, job, EVENT_SENDING);
    job->row.submissions++;
    job_scheduler(job)->submit(engine, job, &ajob);
    free(dir);
}

/* The job is tried again after a while. Why it waits is told, and logged once. */
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

static void written(void *arg, const struct error *failed)
{
    struct engine *engine;
    struct live_job *job = job_answered(arg, EVENT_WRITTEN, &engine);

    if (job == NULL)
        return;
    if (failed != NULL) {
        wait_for_files(engine, job, failed->text);
    } else {
        job->written = true;
        job_advance(engine, job);
    }
    engine_settle(engine);
}

/* Fails the members, or the whole training, whose arguments cannot be given to any program: retries cannot help. */
static void fail_refused(struct engine *engine, struct live_job *job, const struct job_plan *plan)
{
    for (size_t i = 0; i < plan->n_refused; i++) {
        struct outcome out = {
            .outcome = ATTEMPT_FAILED, .exit_code = -1, .ended_ms = engine_now(engine), .final = true};

        text_copy(out.reason, sizeof out.reason, plan->refused[i].reason);
        outcome_apply(engine, job, &job->slots[plan->refused[i].slot], &out);
    }
}

/* Returns whether the directory of one of the job's members is just being removed, which takes a moment. */
static bool is_held(const struct engine *engine, const struct live_job *job)
{
    for (size_t i = 0; engine->ports.held != NULL && job->row.kind == JOB_MEMBERS && i < job->n_slots; i++)
        if (engine->ports.held(engine->ports.arg, job->row.ensemble, job->slots[i].index))
            return true;
    return false;
}

void job_start(struct engine *engine, struct live_job *job)
{
    struct job_plan plan;

    if (job->state.pending != PENDING_NONE)
        return;
    if (is_held(engine, job)) {
        job_retry_in(engine, job, HELD_MS);
        return;
    }
    if (job_is_unwanted(job)) {
        job_abandon(engine, job, ATTEMPT_CANCELLED, "cancelled before it was submitted");
        return;
    }
    if (job->open == 0) { /* all its attempts have ended */
        job_end(engine, job, "");
        return;
    }
    if (!job_scheduler(job)->takes(job)) {
        job_abandon(engine, job, ATTEMPT_LOST, "its allocation has ended before it started");
        return;
    }
    if (job->written && !job_scheduler(job)->hands_over) {
        submit(engine, job, NULL);
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
        job_start(engine, job); /* the slots that are left are not refused */
        return;
    }
    if (job->written || plan.n_files == 0) {
        submit(engine, job, plan.descriptor);
        plan_drop(&plan);
        return;
    }
    free(plan.descriptor); /* made again when needed: only trainings have a descriptor and files */
    job_post(engine, job, EVENT_WRITING);
    engine->ports.rundir_ops->write(engine->ports.rundir, plan.dirs, plan.n_dirs, plan.files, plan.n_files, written,
                                    ticket_new(engine, job->row.id));
}

static void intent_committed(void *arg, const struct error *failed)
{
    struct engine *engine;
    struct live_job *job = job_of_ticket(arg, &engine);

    if (job != NULL && failed == NULL) {
        job_post(engine, job, EVENT_COMMITTED);
        job_start(engine, job);
        engine_settle(engine);
    }
}

void job_start_committed(struct engine *engine, struct live_job *job)
{
    job_post(engine, job, EVENT_COMMITTING);
    turn_after_commit(engine->turn, intent_committed, ticket_new(engine, job->row.id));
}

void job_mark_running(struct engine *engine, struct live_job *job, int64_t started_ms, const char *host)
{
    if (job->found.started || job->row.state == JOB_ENDED)
        return;
    job->found.started = true;
    job_post(engine, job, EVENT_STARTED);
    job->row.started_ms = started_ms ? started_ms : engine_now(engine);
    text_copy(job->found.host, sizeof job->found.host, host);
    for (size_t i = 0; i < job->n_slots && job->row.kind == JOB_MEMBERS; i++)
        job->slots[i].untold = job->slots[i].open;
    if (job->row.kind == JOB_MEMBERS && !job->ensemble->begun) {
        job->ensemble->begun = true;
        if (job->ensemble->training != NULL)
            engine_touch(engine, job->ensemble); /* its training may have waited for a member to run */
    }
    feed_begin(engine, job);
    job_save_later(engine, job);
}

void job_advance(struct engine *engine, struct live_job *job)
{
    if (job->state.pending != PENDING_NONE)
        return;
    if (job->ending.over) {
        job_end(engine, job, "");
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
    if (job_cancel_is_due(engine, job))
        job_send_cancel(engine, job);
    if (job->found.look || job_is_gone(job))
        job_collect(engine, job);
}
