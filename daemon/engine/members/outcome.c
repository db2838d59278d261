/* Decides from how an attempt ended what becomes of its member. */
#include "daemon/engine/members/outcome.h"

#include "common/log_changes.h"
#include "common/text.h"
#include "daemon/engine/jobs/save.h"
#include "daemon/engine/members/artefacts.h"
#include "daemon/engine/members/cancel_member.h"
#include "daemon/engine/members/progress.h"
#include "daemon/engine/members/rungs.h"
#include "daemon/engine/members/stop_only.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/facts.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/slot.h"
#include "daemon/engine/memory/training.h"
#include "daemon/store/cause.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/ran.h"
#include "tasks/proto/retries.h"

#include <stdio.h>
#include <string.h>

/* Returns whether the attempt ended because the engine cancelled its job, although the ensemble goes on: the width was
 * reduced, or somebody cancelled the member. */
static bool was_stopped(const struct live_job *job, const struct attempt_end *out)
{
    return job->row.cancel && !ensemble_is_stopped(&job->ensemble->row) &&
           (out->outcome == ATTEMPT_CANCELLED || out->outcome == ATTEMPT_LOST);
}

static void fail_or_wait(struct member_row *member, bool fails, int64_t count, int64_t now)
{
    member->state = fails ? MEMBER_FAILED : MEMBER_PENDING;
    member->not_before_ms = now + engine_backoff(count);
}

/* Counts an attempt that ended so, and left no newer checkpoint. */
static void spend(const struct live_ensemble *ens, struct member_row *member, enum retries_end end, bool final,
                  int64_t now)
{
    bool may = retries_count(end, ens->spec->retries, &member->failures, &member->losses);

    fail_or_wait(member, final || !may, member->losses > 0 ? member->losses : member->failures, now);
}

/* Handles an attempt that was ended from outside. */
static void lose(const struct live_ensemble *ens, struct member_row *member, const struct attempt_end *out, int64_t now)
{
    bool ran = out->how == ATTEMPT_KILLED || (out->outcome == ATTEMPT_LOST && out->started_ms != 0);

    spend(ens, member, ran ? RETRIES_LOST : RETRIES_TOLD, false, now);
}

/* Handles an attempt that ran out of time and left a newer checkpoint, from which another attempt can go on. Where
 * the member streams into a training, that attempt is made by itself: the training waits for the steps that are
 * left, and no other ensemble could send them. So it is where members are stopped early: the others are compared
 * with it. Otherwise the member is unfinished. */
static void stop_here(const struct live_ensemble *ens, struct member_row *member, const struct progress *progress)
{
    size_t len = strlen(member->reason);

    bool goes_on = ens->training != NULL || ens->spec->stopping.rule != STOPPING_NONE;

    member->state = goes_on && !ensemble_is_ending(&ens->row) ? MEMBER_PENDING : MEMBER_UNFINISHED;
    member->stalls = member->losses = 0;
    snprintf(member->reason + len, sizeof member->reason - len, "; its checkpoint is %s", progress->newest);
}

/* Handles an attempt that ran out of time without a newer checkpoint. The next one is likely to do the same, so only a
 * few in a row are made. */
static void stall(const struct live_ensemble *ens, struct member_row *member, const struct attempt_end *out,
                  const struct progress *progress, int64_t now)
{
    member->stalls++;
    member->losses = 0;
    fail_or_wait(member, member->stalls >= ens->spec->checkpoint.attempts, member->stalls, now);
    if (member->state == MEMBER_FAILED)
        snprintf(member->reason, sizeof member->reason,
                 "stalled: %lld attempts in a row left no %scheckpoint%s%s; the last %.200s", (long long)member->stalls,
                 progress->newest[0] ? "newer " : "", progress->newest[0] ? " than " : "", progress->newest,
                 out->reason);
}

/* Sets the member's next state by the attempt's outcome (stretto-spec(5), "Out of time"). Losses and stalls cost no
 * retry, but each has a limit. A member without checkpoints that ran out of its walltime would do so again, so that
 * costs a retry. */
static void next_state(const struct live_ensemble *ens, struct member_row *member, const struct attempt_end *out,
                       const struct progress *progress, bool stopped, int64_t now)
{
    bool checkpoints = ens->spec->checkpoint.any;

    text_copy(member->reason, sizeof member->reason, out->reason);
    member->not_before_ms = MEMBER_AT_ONCE;
    if (stopped) {
        member->state = ensemble_is_stopped(&ens->row) ? MEMBER_CANCELLED : MEMBER_PENDING;
        return;
    }
    switch (out->outcome) {
    case ATTEMPT_SUCCEEDED:
        member->state = MEMBER_SUCCEEDED;
        member->reason[0] = '\0';
        return;
    case ATTEMPT_REACHED:
        member->state = MEMBER_STOPPED;
        member->losses = member->stalls = 0;
        break;
    case ATTEMPT_TIMEOUT:
        if (checkpoints && progress->made) {
            stop_here(ens, member, progress);
            break;
        }
        if (checkpoints && out->late) {
            lose(ens, member, out, now);
            break;
        }
        if (checkpoints) {
            stall(ens, member, out, progress, now);
            break;
        } /* fall through */
    case ATTEMPT_FAILED:
    case ATTEMPT_DIVERGED:
        if (progress->made)
            member->stalls = 0;
        if (out->how == ATTEMPT_KILLED && progress->made) {
            member->state = MEMBER_PENDING;
            member->losses = 0;
        } else if (out->how == ATTEMPT_KILLED) {
            lose(ens, member, out, now);
        } else {
            spend(ens, member, RETRIES_OWN_FAULT, out->final, now);
        }
        break;
    case ATTEMPT_CANCELLED: /* the ensemble is cancelled, or somebody else ended the runner: preemption, a drain */
    case ATTEMPT_LOST:
        if (progress->made) {
            stop_here(ens, member, progress);
            break;
        }
        lose(ens, member, out, now);
        break;
    case ATTEMPT_OPEN: break;
    }
    /* jobs that the scheduler refuses together have all failed, although the first of them ended the ensemble */
    if (ensemble_is_stopped(&ens->row) && !(ens->row.state == ENSEMBLE_FAILED && out->final))
        member->state = MEMBER_CANCELLED;
}

/* Makes the next attempt of the member begin from its start, however this one ended, since the ranks to which it sent
 * are gone. */
static void go_afresh(struct member_row *member, struct attempt_end *told)
{
    member->since = member->attempts + 1;
    member->since_in = 0;
    if (told->outcome != ATTEMPT_FAILED && told->outcome != ATTEMPT_TIMEOUT)
        snprintf(told->reason, sizeof told->reason, "its training has begun anew");
}

/* Returns whether the rule of early stopping decides what becomes of the member: the rule had it ended, and the member
 * had neither succeeded nor diverged before that. */
static bool is_stopped_early(const struct live_job *job, const struct slot *slot, const struct attempt_end *out)
{
    return slot->order == SLOT_STOPPED && out->outcome != ATTEMPT_SUCCEEDED && out->outcome != ATTEMPT_DIVERGED &&
           !ensemble_is_stopped(&job->ensemble->row);
}

/* Writes why the engine ended the attempt, if it did: `stopped`, although the ensemble was not cancelled. */
static void tell_stopped(struct engine *engine, const struct live_job *job, const struct slot *slot, bool stopped,
                         struct attempt_end *told)
{
    const struct live_ensemble *ens = job->ensemble;
    const char *why = NULL;

    if (is_stopped_early(job, slot, told))
        stop_only_tell(engine, job, slot, told->reason, sizeof told->reason);
    else if (stopped)
        why = slot->order == SLOT_CANCELLED ? "cancelled"
              : ensemble_ends_early(ens)    ? "cancelled: the training was done"
                                            : "stopped: the width was reduced";
    else if (job->row.cancel && slot->order == SLOT_TO_ITS_END && told->outcome == ATTEMPT_CANCELLED &&
             ens->training != NULL && ens->training->row.state == TRAINING_FAILED)
        why = "cancelled: the training failed";
    if (why != NULL)
        text_copy(told->reason, sizeof told->reason, why);
}

static void tell_ended(struct engine *engine, const struct live_job *job, const struct slot *slot,
                       enum attempt_outcome outcome, enum member_state state, const char *reason)
{
    char rest[128];

    if (reason[0] != '\0') { /* the text may need escapes, so jansson writes it */
        engine_event(engine, "attempt.ended", job->row.ensemble, slot->index,
                     json_pack("{s:I, s:s, s:s, s:s}", "attempt", (json_int_t)slot->number, "outcome",
                               attempt_outcome_name(outcome), "member", member_state_name(state), "reason", reason));
        return;
    }
    snprintf(rest, sizeof rest, ",\"outcome\":\"%s\",\"member\":\"%s\",\"reason\":\"\"", attempt_outcome_name(outcome),
             member_state_name(state));
    engine_event_of_attempt(engine, "attempt.ended", job->row.ensemble, slot->index, slot->number, rest);
}

/* Returns whether the end counts among the causes of failures: not if it was asked for, nor if the member was out of
 * time and got further. */
static bool is_failure(const struct slot *slot, const struct attempt_row *attempt, const struct progress *progress)
{
    return slot->order == SLOT_TO_ITS_END &&
           (attempt->outcome == ATTEMPT_FAILED || attempt->outcome == ATTEMPT_DIVERGED ||
            ((attempt->outcome == ATTEMPT_TIMEOUT || attempt->outcome == ATTEMPT_LOST) && !progress->made));
}

static int store_ran(struct engine *engine, const struct live_job *job, const struct slot *slot,
                     const struct attempt_end *out, struct error *err)
{
    char *text = out->ran != NULL ? json_dumps(out->ran, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    int rc = text != NULL ? store_ran_put(engine->store, job->row.ensemble, slot->index, slot->number, text, err) : 0;

    free(text);
    return rc;
}

/* Members that all end in the same way pause their ensemble (guard.h). */
static void tell_guard(struct engine *engine, const struct member_row *member, const struct attempt_end *out)
{
    struct fact *fact = fact_post(engine, FACT_MEMBER_ENDED, member->ensemble, 0);

    fact->of.member.row = *member;
    fact->of.member.outcome = out->outcome;
    memcpy(fact->of.member.reason, out->reason, sizeof fact->of.member.reason);
}

static void apply_to_member(struct engine *engine, struct live_job *job, struct slot *slot,
                            const struct attempt_end *out)
{
    struct live_ensemble *ens = job->ensemble;
    struct attempt_row attempt = {
        .ensemble = ens->row.id,
        .index = slot->index,
        .number = slot->number,
        .outcome = out->outcome,
        .exit_code = out->exit_code,
        .signal = out->signal,
        .started_ms = out->started_ms,
        .ended_ms = out->ended_ms,
        .measured = out->measured,
        .cpu_ms = out->cpu_ms,
        .memory_peak = out->memory_peak,
        .points_read = slot->points_read,
    };
    struct attempt_end told = *out;
    struct member_row member = slot_member(job, slot);
    bool stale = job_is_stale(job);
    bool stopped = stale || was_stopped(job, out);
    bool unstarted = out->how == ATTEMPT_UNSTARTED && !ensemble_is_stopped(&ens->row);
    const char *resumed = json_string_value(json_object_get(out->resumed, "path"));
    struct progress progress;
    struct error err;

    if (stale)
        go_afresh(&member, &told);
    else
        tell_stopped(engine, job, slot, stopped, &told);
    if (out->outcome == ATTEMPT_SUCCEEDED)
        stop_only_notice(engine, job, slot, told.notice, sizeof told.notice);
    progress_note_purged(engine, job, slot, out, told.notice, sizeof told.notice);
    memcpy(attempt.reason, told.reason, sizeof attempt.reason);
    memcpy(attempt.host, out->host, sizeof attempt.host);
    memcpy(attempt.notice, told.notice, sizeof attempt.notice);
    if (resumed != NULL)
        text_copy(attempt.resumed, sizeof attempt.resumed, resumed);
    if (progress_take(engine, job, slot, out, &progress, &err) < 0 || rungs_judge(engine, job, slot, &told, &err) < 0)
        return; /* the turn is doomed, and memory rebuilt */
    next_state(ens, &member, &told, &progress, stopped || unstarted, engine_now(engine));
    if (ensemble_is_ending(&ens->row) && member.state == MEMBER_PENDING) /* an ending ensemble has no retries */
        member.state =
            out->outcome == ATTEMPT_FAILED || out->outcome == ATTEMPT_TIMEOUT ? MEMBER_FAILED : MEMBER_CANCELLED;
    if (ensemble_ends_early(ens) && member.state != MEMBER_SUCCEEDED) /* however it ended, nobody needs it any more */
        member.state = MEMBER_CANCELLED;
    if (is_stopped_early(job, slot, out)) {
        member.state = MEMBER_STOPPED;
        member.not_before_ms = member.losses = member.stalls = 0;
    }
    if (slot->order == SLOT_CANCELLED && member.state != MEMBER_SUCCEEDED) {
        member.state = MEMBER_CANCELLED;
        member.not_before_ms = 0;
    }
    if (store_attempt_update(engine->store, &attempt, &err) < 0 || artefacts_store(engine, job, slot, out, &err) < 0 ||
        store_ran(engine, job, slot, out, &err) < 0 || store_member_change(engine->store, &member, &err) < 0)
        return;
    if (!stopped && !unstarted && is_failure(slot, &attempt, &progress) &&
        store_cause_count(engine->store, &attempt, &err) < 0)
        return;
    slot_tell_running(engine, job, slot);
    ens->in_flight--;
    if (member.state == MEMBER_PENDING && member.not_before_ms < ens->due)
        ens->due = member.not_before_ms;
    tell_ended(engine, job, slot, out->outcome, member.state, told.reason);
    rungs_arrive(engine, job, slot, &told, member.state);
    if (!stopped && !unstarted && out->outcome != ATTEMPT_DIVERGED && /* such failures are results */
        !is_stopped_early(job, slot, out))
        tell_guard(engine, &member, out);
    if (out->outcome != ATTEMPT_SUCCEEDED && out->outcome != ATTEMPT_REACHED && !stopped && !unstarted)
        log_change(LOG_LEVEL_WARN, LOG_ATTEMPT(ens->row.id, slot->index, slot->number, job->row.name),
                   "member %lld.%lld attempt %lld (job %s) %s: %s; the member is %s", (long long)ens->row.id,
                   (long long)slot->index, (long long)slot->number, job->row.name, attempt_outcome_name(out->outcome),
                   out->reason, member_state_name(member.state));
}

void outcome_apply(struct engine *engine, struct live_job *job, struct slot *slot, const struct attempt_end *out)
{
    apply_to_member(engine, job, slot, out);
    cancel_member_stop(engine, job);
}
