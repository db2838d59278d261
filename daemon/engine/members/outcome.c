/* Decides the next state of a member from the end of its attempt. */
#include "daemon/engine/members/outcome.h"

#include "common/log_changes.h"
#include "common/stretto_assert.h"
#include "common/text.h"
#include "daemon/engine/jobs/save.h"
#include "daemon/engine/members/artefacts.h"
#include "daemon/engine/members/cancel_member.h"
#include "daemon/engine/members/next_state.h"
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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether the attempt ended because the engine cancelled its job, although the ensemble goes on: the width was
 * reduced, or somebody cancelled the member. */
static bool was_stopped(const struct live_job *job, const struct attempt_end *out)
{
    return job->row.cancel && !ensemble_is_stopped(&job->ensemble->row) &&
           (out->outcome == ATTEMPT_CANCELLED || out->outcome == ATTEMPT_LOST);
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
           (attempt->end.outcome == ATTEMPT_FAILED || attempt->end.outcome == ATTEMPT_DIVERGED ||
            ((attempt->end.outcome == ATTEMPT_TIMEOUT || attempt->end.outcome == ATTEMPT_LOST) && !progress->made));
}

/* An attempt that has ended, and the next state of its member. */
struct ended {
    struct live_job *job;
    struct slot *slot;
    const struct attempt_end *end; /* as it was reported, and */
    struct attempt_end told;       /* as users are told */
    struct progress progress;
    struct member_row member;
    bool stopped; /* the engine ended it, or its ranks are gone: it costs nothing */
    bool is_void; /* the same, or it never started */
    bool by_rule; /* the rule of early stopping had it ended */
};

static struct next_case case_of(struct engine *engine, const struct ended *e)
{
    const struct live_ensemble *ens = e->job->ensemble;

    return (struct next_case){
        .end = &e->told,
        .progress = &e->progress,
        .order = e->slot->order,
        .is_void = e->is_void,
        .ensemble = &ens->row,
        .ends_early = ensemble_ends_early(ens),
        /* a training waits for the steps that are left; if members are stopped early, others are compared with it */
        .goes_on = ens->training != NULL || ens->spec->stopping.rule != STOPPING_NONE,
        .checkpoints = ens->spec->checkpoint.any,
        .retries = ens->spec->retries,
        .stalls = ens->spec->checkpoint.attempts,
        .now_ms = engine_now(engine),
    };
}

/* Writes why the engine ended the attempt, if it did. */
static void tell_stopped(struct engine *engine, struct ended *e)
{
    const struct live_ensemble *ens = e->job->ensemble;
    const struct slot *slot = e->slot;
    const char *why = NULL;

    if (e->by_rule)
        stop_only_tell(engine, e->job, slot, e->told.reason, sizeof e->told.reason);
    else if (e->stopped)
        why = slot->order == SLOT_CANCELLED ? "cancelled"
              : ensemble_ends_early(ens)    ? "cancelled: the training was done"
                                            : "stopped: the width was reduced";
    else if (e->job->row.cancel && slot->order == SLOT_TO_ITS_END && e->told.outcome == ATTEMPT_CANCELLED &&
             ens->training != NULL && ens->training->row.state == TRAINING_FAILED)
        why = "cancelled: the training failed";
    if (why != NULL)
        text_copy(e->told.reason, sizeof e->told.reason, why);
}

/* Decides the next state of the member. Returns 0, or -1 if the turn is doomed, and memory rebuilt. */
static int judge_member(struct engine *engine, struct ended *e)
{
    bool stale = job_is_stale(e->job);
    struct next_case next;
    struct error err;

    e->told = *e->end;
    e->member = slot_member(e->job, e->slot);
    e->stopped = stale || was_stopped(e->job, e->end);
    e->is_void = e->stopped || (e->end->how == ATTEMPT_UNSTARTED && !ensemble_is_stopped(&e->job->ensemble->row));
    next = case_of(engine, e);
    e->by_rule = next_is_by_rule(&next);
    if (stale)
        go_afresh(&e->member, &e->told);
    else
        tell_stopped(engine, e);
    if (e->end->outcome == ATTEMPT_SUCCEEDED)
        stop_only_notice(engine, e->job, e->slot, e->told.notice, sizeof e->told.notice);
    progress_note_purged(engine, e->job, e->slot, e->end, e->told.notice, sizeof e->told.notice);
    if (progress_take(engine, e->job, e->slot, e->end, &e->progress, &err) < 0 ||
        rungs_judge(engine, e->job, e->slot, &e->told, &err) < 0)
        return -1;
    next_state(&e->member, &next);
    return 0;
}

static int store_ran(struct engine *engine, const struct ended *e, struct error *err)
{
    char *text = e->end->ran != NULL ? json_dumps(e->end->ran, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    int rc = 0;

    if (text != NULL)
        rc = store_ran_put(engine->store, e->member.ensemble, e->slot->index, e->slot->number, text, err);
    free(text);
    return rc;
}

static int store_end(struct engine *engine, const struct ended *e)
{
    const char *resumed = json_string_value(json_object_get(e->end->resumed, "path"));
    struct attempt_row attempt = {
        .ensemble = e->member.ensemble,
        .index = e->slot->index,
        .number = e->slot->number,
        .end = e->told,
        .points_read = e->slot->points_read,
    };
    struct error err;

    if (resumed != NULL)
        text_copy(attempt.resumed, sizeof attempt.resumed, resumed);
    if (store_attempt_update(engine->store, &attempt, &err) < 0 ||
        artefacts_store(engine, e->job, e->slot, e->end, &err) < 0 || store_ran(engine, e, &err) < 0 ||
        store_member_change(engine->store, &e->member, &err) < 0)
        return -1;
    if (!e->is_void && is_failure(e->slot, &attempt, &e->progress))
        return store_cause_count(engine->store, &attempt, &err);
    return 0;
}

/* Members that all end in the same way pause their ensemble (guard.h). */
static void tell_guard(struct engine *engine, const struct ended *e)
{
    struct fact *fact;

    if (e->is_void || e->by_rule || e->end->outcome == ATTEMPT_DIVERGED) /* such failures are results */
        return;
    fact = fact_post(engine, FACT_MEMBER_ENDED, e->member.ensemble, 0);
    fact->of.member.row = e->member;
    fact->of.member.outcome = e->end->outcome;
    memcpy(fact->of.member.reason, e->end->reason, sizeof fact->of.member.reason);
}

static void log_end(const struct ended *e)
{
    if (e->end->outcome == ATTEMPT_SUCCEEDED || e->end->outcome == ATTEMPT_REACHED || e->is_void)
        return;
    log_change(LOG_LEVEL_WARN, LOG_ATTEMPT(e->member.ensemble, e->slot->index, e->slot->number, e->job->row.name),
               "member %lld.%lld attempt %lld (job %s) %s: %s; the member is %s", (long long)e->member.ensemble,
               (long long)e->slot->index, (long long)e->slot->number, e->job->row.name,
               attempt_outcome_name(e->end->outcome), e->end->reason, member_state_name(e->member.state));
}

void outcome_apply(struct engine *engine, struct live_job *job, struct slot *slot, const struct attempt_end *end)
{
    struct live_ensemble *ens = job->ensemble;
    struct ended e = {.job = job, .slot = slot, .end = end};

    stretto_assert(!slot->open && end->outcome != ATTEMPT_OPEN);
    if (judge_member(engine, &e) == 0 && store_end(engine, &e) == 0) {
        slot_tell_running(engine, job, slot);
        ens->in_flight--;
        stretto_assert(ens->in_flight >= 0);
        if (e.member.state == MEMBER_PENDING && e.member.not_before_ms < ens->due)
            ens->due = e.member.not_before_ms;
        tell_ended(engine, job, slot, end->outcome, e.member.state, e.told.reason);
        rungs_arrive(engine, job, slot, &e.told, e.member.state);
        tell_guard(engine, &e);
        log_end(&e);
    }
    cancel_member_stop(engine, job);
}
