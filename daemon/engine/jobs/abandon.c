/* Gives up jobs whose end no record reports. This needs care, since schedulers forget jobs, are late, and are wrong for
 * a while.
 *
 * A job that a runner claimed is lost if its scheduler still says after a while that it is gone, and no record has
 * come.
 *
 * A job that nobody claimed may still be started by a scheduler that had only lost sight of it. Before it is given up
 * the daemon therefore seals it: it claims the job itself, exclusively, as a runner does. A late runner then finds the
 * job claimed, and touches nothing.
 *
 * A runner on a node that the scheduler has lost may still run, and end well a moment later. Before its attempts are
 * lost the daemon therefore fences them: it writes a file in the place of each exit record, exclusively, as a runner
 * writes the record. Either the record is there first, and counts, or the runner finds the place taken, and its results
 * do not count. */
#include "daemon/engine/jobs/abandon.h"

#include "common/log.h"
#include "common/log_changes.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/engine/jobs/collect.h"
#include "daemon/engine/jobs/job_news.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/facts.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/job_event.h"
#include "daemon/engine/memory/paths.h"
#include "daemon/engine/memory/slot.h"
#include "daemon/store/ensemble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS_MS 4500   /* how long to wait for a record, since shared file systems show files late */
#define UNKNOWN_MS 60000  /* the same if the scheduler does not know a claimed job, which may come back */
#define SUBMISSIONS_MAX 5 /* of a job that its scheduler keeps forgetting before it starts */

/* Returns whether any job of the ensemble is known to have begun. */
static bool has_begun(struct engine *engine, const struct live_job *job)
{
    int64_t n[MEMBER_STATE_COUNT];
    struct error err;

    for (size_t i = 0; i < job->n_slots; i++)
        if (job->slots[i].number > 1)
            return true;
    for (const struct live_job *other = job->ensemble->jobs; other != NULL; other = other->ens_next)
        if (other->found.started)
            return true;
    return store_tally_get(engine->store, job->row.ensemble, n, &err) < 0 ||
           n[MEMBER_RUNNING] + n[MEMBER_SUCCEEDED] + n[MEMBER_FAILED] + n[MEMBER_UNFINISHED] + n[MEMBER_STOPPED] > 0;
}

/* Returns whether the job has certainly run. Its scheduler's word for it proves nothing: a scheduler that came back
 * with an older state may give the job's id to another one. It then reports the processes and the end of that one as
 * the job's. Only a claim proves that a runner has begun. */
static bool has_run(const struct live_job *job)
{
    return job->state.proof == PROOF_CLAIMED || job->state.proof == PROOF_FENCED ||
           (job->found.started && job->adapter->ops->exact);
}

static void conclude_job(struct engine *engine, struct live_job *job, json_t *const *checkpoints)
{
    bool ends_all = job->ending.refusal != REFUSAL_NONE && job->row.kind != JOB_TRAINING && job->own == NULL &&
                    !ensemble_ends_early(job->ensemble) && !has_begun(engine, job);
    char reason[sizeof job->ending.abandon_reason], whole[sizeof reason + 40];

    memcpy(reason, job->ending.abandon_reason, sizeof reason);
    job_fail_open(engine, job, job->ending.abandon_as, reason, checkpoints);
    if (ends_all) {
        snprintf(whole, sizeof whole, "%s%s",
                 job->ending.refusal == REFUSAL_QUEUED ? "" : "the scheduler refuses its jobs: ", reason);
        fact_to_stop(engine, job->row.ensemble, whole);
    }
    job_over(engine, job, reason);
}

/* The file system failed, so that the job cannot be given up yet. */
static void look_again_later(struct engine *engine, struct live_job *job, const struct error *failed)
{
    log_warn_of(LOG_JOB(job->row.ensemble, job->row.name), "job %s cannot be given up yet: %s", job->row.name,
                failed->text);
    job->found.look = true;
    job_retry_in(engine, job, FILE_RETRY_MS);
}

static void job_searched(void *arg, json_t **lists, const struct error *failed)
{
    struct engine *engine;
    struct live_job *job = job_answered(arg, EVENT_SEARCHED, &engine);

    if (job == NULL)
        return;
    if (failed != NULL) {
        look_again_later(engine, job, failed);
    } else {
        conclude_job(engine, job, lists);
    }
    engine_settle(engine);
}

/* Looks in the members' directories for the checkpoints that they left, since no runner has told which these are. */
static void look_for_checkpoints(struct engine *engine, struct live_job *job)
{
    struct ckpt_chain *chains = xcalloc(job->open, sizeof *chains);
    char **dirs = xcalloc(job->open, sizeof *dirs);
    size_t n = 0;

    for (size_t i = 0; i < job->n_slots; i++) {
        if (!job->slots[i].open)
            continue;
        chains[n] = slot_chain(job, &job->slots[i]);
        dirs[n++] = engine_checkpoint_dir(engine, job->ensemble, job->slots[i].index);
    }
    job_post(engine, job, EVENT_SEARCHING);
    engine->ports.rundir_ops->checkpoints(engine->ports.rundir, dirs, chains, n, job_searched,
                                          ticket_new(engine, job->row.id));
}

static void job_fenced(void *arg, bool taken, const struct error *failed)
{
    struct engine *engine;
    struct live_job *job = job_answered(arg, EVENT_FENCE_WRITTEN, &engine);

    if (job == NULL)
        return;
    job->found.look = true; /* the place of each record now has a fence, or a record that was written before it */
    if (failed != NULL) {
        look_again_later(engine, job, failed);
    } else {
        job_touch(engine, job);
    }
    engine_settle(engine);
}

static json_t *make_seal(const struct engine *engine, const struct live_job *job);

static void fence_job(struct engine *engine, struct live_job *job)
{
    char **paths = xcalloc(job->open, sizeof *paths);
    size_t n = 0;

    for (size_t i = 0; i < job->n_slots; i++)
        if (job->slots[i].open)
            paths[n++] = slot_exit_path(engine, job, &job->slots[i]);
    job_post(engine, job, EVENT_FENCING);
    engine->ports.rundir_ops->claim(engine->ports.rundir, paths, n, make_seal(engine, job), job_fenced,
                                    ticket_new(engine, job->row.id));
}

/* Returns whether the job must be fenced, because its runner may go on unseen. */
static bool needs_fence(const struct live_job *job)
{
    return job->ending.abandon_as == ATTEMPT_LOST && job->state.proof != PROOF_FENCED && job->open > 0 &&
           has_run(job) && !job_scheduler(job)->sure;
}

bool job_read_fence(struct live_job *job, const json_t *given_up)
{
    const char *reason = json_string_value(json_object_get(given_up, "reason"));

    if (reason != NULL)
        text_copy(job->ending.abandon_reason, sizeof job->ending.abandon_reason, reason);
    return true;
}

static void seal_claimed(void *arg, bool taken, const struct error *failed)
{
    struct engine *engine;
    struct live_job *job = job_answered(arg, failed != NULL || taken ? EVENT_NOT_SEALED : EVENT_SEALED, &engine);

    if (job == NULL)
        return;
    if (failed != NULL) {
        look_again_later(engine, job, failed);
    } else if (taken) { /* by a runner, or by the daemon before a restart: the job's files say which */
        job->ending.refusal = REFUSAL_NONE;
        job->ending.abandon_as = ATTEMPT_OPEN;
        job->found.look = true;
        job->found.missing_ms = 0;
        job_retry_in(engine, job, COLLECT_FIRST_MS);
        if (job->row.state == JOB_INTENT) /* it was submitted after all, and has started */
            job_note_submitted(engine, job, EVENT_TAKEN, job->row.scheduler_id);
    } else {
        conclude_job(engine, job, NULL);
    }
    engine_settle(engine);
}

/* Makes the file that the daemon writes as a seal or as a fence. The decision is in it, since the daemon may die, or
 * its commit fail, before the decision is stored. */
static json_t *make_seal(const struct engine *engine, const struct live_job *job)
{
    json_t *reason = json_string(job->ending.abandon_reason);

    return json_pack("{s:i, s:s, s:b, s:f, s:s, s:o, s:b, s:b}", "version", 1, "job", job->row.name, "given_up", 1,
                     "time", (double)engine_now(engine) / 1000, "outcome", attempt_outcome_name(job->ending.abandon_as),
                     "reason", reason ? reason : json_null() /* if the text is not UTF-8 */, "refused",
                     job->ending.refusal != REFUSAL_NONE, "waits", job->ending.refusal == REFUSAL_QUEUED);
}

void job_read_seal(struct engine *engine, struct live_job *job, const json_t *claim)
{
    static const enum attempt_outcome outcomes[] = {ATTEMPT_FAILED, ATTEMPT_CANCELLED, ATTEMPT_LOST};
    const char *outcome = json_string_value(json_object_get(claim, "outcome")),
               *reason = json_string_value(json_object_get(claim, "reason"));

    if (job->state.proof == PROOF_SEALED)
        return;
    job_post(engine, job, EVENT_SEAL);
    for (size_t i = 0; outcome != NULL && i < sizeof outcomes / sizeof *outcomes; i++)
        if (strcmp(outcome, attempt_outcome_name(outcomes[i])) == 0)
            job->ending.abandon_as = outcomes[i];
    text_copy(job->ending.abandon_reason, sizeof job->ending.abandon_reason, reason ? reason : "");
    if (json_is_true(json_object_get(claim, "refused")))
        job->ending.refusal = json_is_true(json_object_get(claim, "waits")) ? REFUSAL_QUEUED : REFUSAL_SUBMISSION;
}

void job_abandon(struct engine *engine, struct live_job *job, enum attempt_outcome outcome, const char *reason)
{
    char **paths, *dir;

    job->ending.abandon_as = outcome;
    if (reason != job->ending.abandon_reason)
        text_copy(job->ending.abandon_reason, sizeof job->ending.abandon_reason, reason);
    if (needs_fence(job)) {
        fence_job(engine, job);
        return;
    }
    if (has_run(job) && job->open > 0 && job->row.kind == JOB_MEMBERS && job->ensemble->spec->checkpoint.any) {
        look_for_checkpoints(engine, job);
        return;
    }
    if (job->state.proof == PROOF_SEALED || has_run(job) || job->state.sent == SENT_NEVER) {
        conclude_job(engine, job, NULL);
        return;
    }
    job_post(engine, job, EVENT_SEALING);
    dir = engine_job_dir(engine, job);
    paths = xcalloc(1, sizeof *paths);
    paths[0] = xasprintf("%s/claim.json", dir);
    free(dir);
    engine->ports.rundir_ops->claim(engine->ports.rundir, paths, 1, make_seal(engine, job), seal_claimed,
                                    ticket_new(engine, job->row.id));
}

void job_abandon_fenced(struct engine *engine, struct live_job *job)
{
    job_post(engine, job, EVENT_FENCED);
    job_abandon(engine, job, ATTEMPT_LOST, job->ending.abandon_reason);
}

void job_abandon_sealed(struct engine *engine, struct live_job *job)
{
    conclude_job(engine, job, NULL);
}

void job_refuse(struct engine *engine, struct live_job *job, const char *why)
{
    char reason[sizeof job->ending.abandon_reason];

    snprintf(reason, sizeof reason, "%s%s", job->ending.refusal == REFUSAL_QUEUED ? "the job can never run: " : "",
             why);
    if (job->ending.refusal == REFUSAL_NONE)
        job->ending.refusal = REFUSAL_SUBMISSION;
    job_abandon(engine, job, ATTEMPT_FAILED, reason);
}

/* Submits a job again that the scheduler forgot before it started. If the first one starts after all, only one of the
 * two runners can claim the job. */
static void submit_again(struct engine *engine, struct live_job *job)
{
    struct error err;

    log_change(LOG_LEVEL_INFO, LOG_JOB(job->row.ensemble, job->row.name),
               "job %s: the scheduler does not know it and it never started: it is submitted again", job->row.name);
    job_post(engine, job, EVENT_AGAIN);
    store_job_update(engine->store, &job->row, &err);
    job_start_committed(engine, job);
}

/* Returns whether a claimed job may still run although it is said to be gone. If it was submitted more than once, the
 * ended one may be the duplicate that came too late. */
static bool is_doubtful(const struct live_job *job, bool ran)
{
    return ran && !job_scheduler(job)->sure && (job->state.belief == BELIEF_FORGOTTEN || job->row.submissions > 1);
}

/* Returns whether no record has come for long enough, and the job is over for sure. */
static bool is_sure(const struct live_job *job, bool ran, bool ended, int64_t now)
{
    if (ended || job_scheduler(job)->sure)
        return now - job->found.missing_ms >= RECORDS_MS;
    /* The scheduler has repeated for that long that the job is gone. */
    return job->told.gone_ms - job->found.missing_ms >= (is_doubtful(job, ran) ? UNKNOWN_MS : RECORDS_MS);
}

void job_missing(struct engine *engine, struct live_job *job, bool ended)
{
    bool ran = has_run(job);
    int64_t now = engine_now(engine), wait;
    char reason[400];

    if (!ran && job_is_unwanted(job)) {
        job_abandon(engine, job, ATTEMPT_CANCELLED, "cancelled before it started");
        return;
    }
    if (!ran && job_scheduler(job)->returns_jobs) {
        job_abandon(engine, job, ATTEMPT_LOST, job->told.gone_reason);
        return;
    }
    if (!ran && !job->found.started && job->state.belief == BELIEF_FORGOTTEN && job->state.proof != PROOF_SEALED &&
        ++job->told.forgotten < SUBMISSIONS_MAX) {
        submit_again(engine, job);
        return;
    }
    if (job->found.missing_ms == 0) {
        job->found.missing_ms = now;
        if (is_doubtful(job, ran) && !ended)
            log_info_of(LOG_JOB(job->row.ensemble, job->row.name),
                        "job %s: the scheduler %s, and its runner has left no record: it is lost if that stays so for "
                        "a minute",
                        job->row.name,
                        job->state.belief == BELIEF_FORGOTTEN ? "does not know it any more" : "says that it has ended");
    }
    if (job->state.proof != PROOF_SEALED && !is_sure(job, ran, ended, now)) {
        wait = now - job->found.missing_ms < COLLECT_FIRST_MS ? COLLECT_FIRST_MS : now - job->found.missing_ms;
        job->found.look = true;
        job_retry_in(engine, job, wait < FILE_RETRY_MS ? wait : FILE_RETRY_MS); /* the wait doubles, up to a limit */
        return;
    }
    if (ran)
        snprintf(reason, sizeof reason, "the runner was lost: no exit record was left%s%s",
                 job->told.gone_reason[0] ? "; " : "", job->told.gone_reason);
    else if (job->told.gone_reason[0])
        snprintf(reason, sizeof reason, "the job ended before it started: %s", job->told.gone_reason);
    else
        snprintf(reason, sizeof reason,
                 "the job vanished from the queue before it started: the scheduler does not know it any more, as where "
                 "somebody deleted it");
    job_abandon(engine, job, job_is_unwanted(job) ? ATTEMPT_CANCELLED : ATTEMPT_LOST, reason);
}
