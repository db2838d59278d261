/* How an attempt ended, and what becomes of its member. */
#include "daemon/engine/internal.h"

#include "common/log.h"

#include <stdio.h>
#include <string.h>

static int64_t backoff(int64_t failures)
{
    int64_t ms = BACKOFF_FIRST_MS;

    for (int64_t i = 1; i < failures && ms < BACKOFF_MAX_MS; i++)
        ms *= 2;
    return ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS;
}

/* Ended because we asked for it, in an ensemble that goes on: a resize to a smaller width. */
static bool was_stopped(const struct live_job *job, const struct outcome *out)
{
    return job->row.cancel && job->ensemble->row.state != ENSEMBLE_CANCELLED &&
           (out->outcome == ATTEMPT_CANCELLED || out->outcome == ATTEMPT_LOST);
}

/* The member's next state by the attempt's outcome. Losses cost no retry, but are not endless; a member that ran out
 * of its walltime without a checkpoint would do so again, so that does cost one. */
static void next_state(const struct live_ensemble *ens, struct member_row *member, const struct outcome *out,
                       bool stopped, int64_t now)
{
    snprintf(member->reason, sizeof member->reason, "%s", out->reason);
    member->not_before_ms = 0;
    if (stopped) {
        member->state = MEMBER_PENDING;
        return;
    }
    switch (out->outcome) {
    case ATTEMPT_SUCCEEDED:
        member->state = MEMBER_SUCCEEDED;
        member->reason[0] = '\0';
        return;
    case ATTEMPT_FAILED:
    case ATTEMPT_TIMEOUT:
        member->failures++;
        member->losses = 0;
        member->state = out->final || member->failures > ens->spec->retries ? MEMBER_FAILED : MEMBER_PENDING;
        member->not_before_ms = now + backoff(member->failures);
        break;
    case ATTEMPT_CANCELLED: /* by us where the ensemble is; else somebody ended the runner: preemption, a drain */
    case ATTEMPT_LOST:
        member->losses++;
        member->state = member->losses > LOSSES_MAX ? MEMBER_FAILED : MEMBER_PENDING;
        member->not_before_ms = now + backoff(member->losses);
        break;
    case ATTEMPT_OPEN:
        break;
    }
    if (ens->row.state == ENSEMBLE_CANCELLED)
        member->state = MEMBER_CANCELLED;
}

struct member_row slot_member(const struct live_job *job, const struct slot *slot)
{
    return (struct member_row){.ensemble = job->row.ensemble, .index = slot->index, .attempts = slot->number,
                               .failures = slot->failures, .losses = slot->losses};
}

static void tell_ended(struct engine *engine, const struct live_job *job, const struct slot *slot,
                       enum attempt_outcome outcome, enum member_state state, const char *reason)
{
    char rest[128];

    if (reason[0] != '\0') { /* whose text may need escapes */
        engine_event(engine, "attempt.ended", job->row.ensemble, slot->index,
                     json_pack("{s:I, s:s, s:s, s:s}", "attempt", (json_int_t)slot->number, "outcome",
                               attempt_outcome_name(outcome), "member", member_state_name(state), "reason", reason));
        return;
    }
    snprintf(rest, sizeof rest, ",\"outcome\":\"%s\",\"member\":\"%s\",\"reason\":\"\"",
             attempt_outcome_name(outcome), member_state_name(state));
    engine_event_of_attempt(engine, "attempt.ended", job->row.ensemble, slot->index, slot->number, rest);
}

static void apply_to_member(struct engine *engine, struct live_job *job, struct slot *slot, const struct outcome *out)
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
    };
    struct outcome told = *out;
    struct member_row member = slot_member(job, slot);
    bool stopped = was_stopped(job, out);
    struct error err;

    if (stopped)
        snprintf(told.reason, sizeof told.reason, "stopped: the width was reduced");
    memcpy(attempt.reason, told.reason, sizeof attempt.reason);
    memcpy(attempt.host, out->host, sizeof attempt.host);
    next_state(ens, &member, &told, stopped, engine_now(engine));
    if (store_attempt_update(engine->store, &attempt, &err) < 0 ||
        store_member_change(engine->store, &member, &err) < 0)
        return;
    slot_tell_running(engine, job, slot);
    ens->in_flight--;
    if (member.state == MEMBER_PENDING && member.not_before_ms < ens->due)
        ens->due = member.not_before_ms;
    tell_ended(engine, job, slot, out->outcome, member.state, told.reason);
    if (out->outcome != ATTEMPT_SUCCEEDED && !stopped)
        log_warn_of(LOG_ATTEMPT(ens->row.id, slot->index, slot->number, job->row.name),
                    "member %lld.%lld attempt %lld (job %s) %s: %s; the member is %s", (long long)ens->row.id,
                    (long long)slot->index, (long long)slot->number, job->row.name,
                    attempt_outcome_name(out->outcome), out->reason, member_state_name(member.state));
}

void outcome_apply(struct engine *engine, struct live_job *job, struct slot *slot, const struct outcome *out)
{
    if (!slot->open)
        return;
    slot->open = false;
    job->open--;
    if (job->row.kind == JOB_TRAINING)
        training_rank_ended(engine, job, slot, out);
    else
        apply_to_member(engine, job, slot, out);
    engine_touch(engine, job->ensemble);
}
