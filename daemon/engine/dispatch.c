/* Takes the next step of an ensemble: start its training, make jobs of pending members up to the width, end it. */
#include "daemon/engine/dispatch.h"

#include "common/log_changes.h"
#include "common/xalloc.h"
#include "daemon/engine/after.h"
#include "daemon/engine/alarm.h"
#include "daemon/engine/cancel.h"
#include "daemon/engine/cancel_member.h"
#include "daemon/engine/core.h"
#include "daemon/engine/early.h"
#include "daemon/engine/ensemble.h"
#include "daemon/engine/follow_up.h"
#include "daemon/engine/job.h"
#include "daemon/engine/load.h"
#include "daemon/engine/missing.h"
#include "daemon/engine/open.h"
#include "daemon/engine/pilot.h"
#include "daemon/engine/renew.h"
#include "daemon/engine/rungs.h"
#include "daemon/engine/schedule.h"
#include "daemon/engine/training.h"
#include "daemon/engine/training_event.h"
#include "daemon/spec/needs.h"
#include "daemon/store/suggestion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An ensemble that waits for another one looks again after this time, besides when an ensemble ends. */
#define AFTER_LOOK_MS 60000

struct choice {
    const struct spec *spec;
    struct adapter_resources needs; /* of all members that are chosen, where members have different ones */
    struct member_row *rows;
    size_t n;
};

/* Returns whether a member can share a job with those that were chosen before: all members of a job ask for the
 * same. */
static bool suits(struct choice *choice, int64_t index)
{
    struct adapter_resources needs;
    struct error ignored;

    if (choice->spec->members.needs == NULL || choice->spec->pack == 1)
        return true;
    needs_of(choice->spec, index, &needs, &ignored);
    if (choice->n == 0)
        choice->needs = needs;
    return needs_are_equal(&choice->needs, &needs);
}

static int choose(void *arg, const struct member_row *row)
{
    struct choice *choice = arg;

    if (suits(choice, row->index))
        choice->rows[choice->n++] = *row;
    return 0;
}

/* Puts a member into a job: writes its row and its attempt. */
static int enlist(struct engine *engine, struct live_job *job, struct member_row *row, int64_t now, struct error *err)
{
    struct attempt_row attempt = {.ensemble = row->ensemble,
                                  .index = row->index,
                                  .number = row->attempts + 1,
                                  .job = job->row.id,
                                  .submitted_ms = now};
    char rest[sizeof job->row.name + 16];

    row->state = MEMBER_SUBMITTED;
    row->attempts++;
    if (rungs_next(engine, job->ensemble, row->index, &attempt.rung, err) < 0 ||
        store_member_put(engine->store, row, err) < 0 || store_attempt_insert(engine->store, &attempt, err) < 0)
        return -1;
    snprintf(rest, sizeof rest, ",\"job\":\"%s\"", job->row.name);
    engine_event_of_attempt(engine, "member.submitted", row->ensemble, row->index, row->attempts, rest);
    if (renew_note_again(engine, job->ensemble, row, err) < 0)
        return -1;
    job->slots[job->n_slots++] = (struct slot){.index = row->index,
                                               .number = row->attempts,
                                               .failures = row->failures,
                                               .losses = row->losses,
                                               .stalls = row->stalls,
                                               .since = row->since,
                                               .since_in = row->since_in,
                                               .rung = attempt.rung,
                                               .open = true};
    job->open++;
    job->ensemble->in_flight++;
    job_find_resources(job);
    return 0;
}

static int make_job(struct engine *engine, struct live_ensemble *ens, struct pilot_node *node, struct member_row *rows,
                    size_t n, int64_t now)
{
    struct job_row row = {.ensemble = ens->row.id, .kind = JOB_MEMBERS, .size = (int64_t)n, .created_ms = now};
    struct live_job *job;
    struct error err;

    memcpy(row.adapter, ens->row.adapter, sizeof row.adapter);
    if (node != NULL) {
        row.pilot = node->pilot->job->row.id;
        row.node = node->number;
    }
    if (engine_insert_job(engine, &row, &err) < 0)
        return -1;
    job = job_new(engine, ens, &row, false);
    if (job == NULL)
        return -1;
    job->slots = xcalloc(n, sizeof *job->slots);
    for (size_t i = 0; i < n; i++)
        if (enlist(engine, job, &rows[i], now, &err) < 0)
            return -1; /* the turn is rolled back, and memory rebuilt */
    job_start_committed(engine, job);
    return 0;
}

/* Returns whether some members have no row yet. In a follow-up each member has one, written when it is taken over. */
static bool has_untried(const struct live_ensemble *ens)
{
    return ens->row.root == 0 && ens->row.next_index < ens->row.count;
}

/* Chooses at most `room` pending members, those that were tried before first. Returns how many, or -1 on failure. */
static int64_t choose_members(struct engine *engine, struct live_ensemble *ens, struct member_row *rows, size_t room,
                              int64_t now)
{
    struct choice choice = {.spec = ens->spec, .rows = rows};
    struct error err;

    if (ens->due <= now && ens->row.intake != INTAKE_NONE &&
        store_suggestion_line_up(engine->store, ens->row.id, now, &err) < 0)
        return store_doom(engine->store, &err);
    if (ens->due <= now && store_member_each_due(engine->store, ens->row.id, now, (int)room, choose, &choice, &err) < 0)
        return store_doom(engine->store, &err);
    while (choice.n < room && has_untried(ens) && suits(&choice, ens->row.next_index)) {
        struct member_row row = {.ensemble = ens->row.id, .index = ens->row.next_index++};
        int cancelled = cancel_member_asked(engine, ens, row.index, &err);

        engine_save_later(engine, ens);
        if (cancelled == 0) {
            rows[choice.n++] = row;
            continue;
        }
        row.state = MEMBER_CANCELLED;
        if (cancelled < 0 || store_member_put(engine->store, &row, &err) < 0)
            return store_doom(engine->store, &err);
        engine_event_of_span(engine, ens->row.id, &(struct member_span){row.index, row.index}, MEMBER_CANCELLED);
    }
    return (int64_t)choice.n;
}

bool dispatch_wants(const struct live_ensemble *ens, int64_t now)
{
    return ens->row.state == ENSEMBLE_RUNNING && ens->row.after == 0 && ens->in_flight < ens->row.width &&
           !ensemble_is_ending(&ens->row) && renew_lets_start(ens) &&
           (ens->training == NULL || ens->training->state.need == NEED_SAMPLES) &&
           (ens->training == NULL || ens->training->row.state == TRAINING_RUNNING ||
            (ens->spec->members_first && ens->training->row.state < TRAINING_RUNNING)) &&
           (has_untried(ens) || ens->due <= now);
}

int64_t dispatch_job(struct engine *engine, struct live_ensemble *ens, struct pilot_node *node, int64_t now)
{
    int64_t room = ens->row.width - ens->in_flight, n;
    bool was_due = ens->due <= now;
    struct member_row *rows;
    struct error err;

    if (room > ens->spec->pack)
        room = ens->spec->pack;
    rows = xcalloc((size_t)room, sizeof *rows);
    n = choose_members(engine, ens, rows, (size_t)room, now);
    if (n > 0 && make_job(engine, ens, node, rows, (size_t)n, now) < 0)
        n = -1;
    free(rows);
    if (n >= 0 && was_due && store_member_next_due(engine->store, ens->row.id, &ens->due, &err) < 0)
        n = store_doom(engine->store, &err);
    return n;
}

bool dispatch_all_final(const struct ensemble_row *row, const int64_t n[MEMBER_STATE_COUNT])
{
    return n[MEMBER_PENDING] + n[MEMBER_SUBMITTED] + n[MEMBER_RUNNING] == 0 && !open_waits(row);
}

/* Fails the ensemble for the reason in its row. `detail` is taken over. */
static void fail(struct engine *engine, struct live_ensemble *ens, json_t *detail)
{
    struct error err;

    ens->row.state = ENSEMBLE_FAILED;
    ens->row.ended_ms = engine_now(engine);
    store_ensemble_update(engine->store, &ens->row, &err);
    after_tell(engine);
    log_change(LOG_LEVEL_WARN, LOG_ENSEMBLE(ens->row.id), "ensemble %lld has failed: %s", (long long)ens->row.id,
               ens->row.reason);
    engine_event(engine, "ensemble.failed", ens->row.id, -1, detail);
    ens->cancels.from = ens->jobs;
}

/* Fails the ensemble if its training lacks steps, whatever its members say. Returns whether it does. */
static bool fail_for_missing(struct engine *engine, struct live_ensemble *ens)
{
    json_t *missing;

    if (ens->training == NULL)
        return false;
    if (missing_steps(&ens->training->row, &missing) == 0) {
        json_decref(missing);
        return false;
    }
    missing_tell(missing, ens->row.reason, sizeof ens->row.reason);
    fail(engine, ens, json_pack("{s:s, s:o}", "reason", ens->row.reason, "missing", missing));
    return true;
}

static void complete(struct engine *engine, struct live_ensemble *ens, const int64_t tally[MEMBER_STATE_COUNT])
{
    struct ensemble_row *row = &ens->row;
    bool early = early_is_ending(ens);
    int64_t failed = tally[MEMBER_FAILED];
    bool all_failed = failed > 0 && failed == row->count;
    struct error err;

    if (all_failed && (early || !ensemble_is_ending(row)))
        snprintf(row->reason, sizeof row->reason,
                 failed == 1 ? "its only member has failed" : "all %lld members have failed", (long long)failed);
    if (all_failed || (ensemble_is_ending(row) && !early)) {
        fail(engine, ens, json_pack("{s:s}", "reason", row->reason));
        return;
    }
    if (fail_for_missing(engine, ens))
        return;
    if (early)
        early_tell(engine, ens, tally, row->reason, sizeof row->reason);
    ens->row.state = ENSEMBLE_COMPLETE;
    ens->row.ended_ms = engine_now(engine);
    store_ensemble_update(engine->store, &ens->row, &err);
    engine_event(engine, "ensemble.complete", ens->row.id, -1,
                 early ? json_pack("{s:s}", "reason", row->reason) : NULL);
    log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(ens->row.id), "ensemble %lld is complete%s%s", (long long)ens->row.id,
               early ? ": " : "", row->reason);
    ens->cancels.from = ens->jobs; /* its allocations are given back */
    if (ens->spec->follows_up && !early)
        follow_up_auto(engine, ens);
    after_tell(engine);
}

/* Returns whether every member is final. They cannot be while attempts are open or members have not been tried, so the
 * tally is rarely read. */
static bool members_over(struct engine *engine, const struct live_ensemble *ens, int64_t tally[MEMBER_STATE_COUNT])
{
    struct error err;

    if (ens->in_flight > 0 || open_waits(&ens->row) || ens->bulk ||
        (ens->row.next_index < ens->row.count && !ensemble_is_ending(&ens->row)))
        return false;
    if (store_tally_get(engine->store, ens->row.id, tally, &err) < 0) {
        store_doom(engine->store, &err); /* since nothing else would make the engine look again */
        return false;
    }
    return dispatch_all_final(&ens->row, tally);
}

/* If the spec lets members start first, the training is due once a member runs. It is due also when all members have
 * ended without it, since nothing else would end the training then. */
bool dispatch_training_is_due(struct engine *engine, const struct live_ensemble *ens)
{
    const struct training *training = ens->training;

    int64_t tally[MEMBER_STATE_COUNT];

    if (ens->row.state != ENSEMBLE_RUNNING || ens->row.after != 0 || training == NULL ||
        training->row.state != TRAINING_PENDING || engine_now(engine) < training->row.not_before_ms)
        return false;
    return !ens->spec->members_first || ens->begun || training->row.generation > 1 || members_over(engine, ens, tally);
}

/* Cancels the jobs of an ensemble that is over. There may be thousands, so each turn cancels some. */
static void cancel_jobs(struct engine *engine, struct live_ensemble *ens)
{
    if (ens->cancels.from == NULL)
        return;
    for (int n = 0; ens->cancels.from != NULL && n < DISPATCH_MAX; n++) {
        struct live_job *job = ens->cancels.from;

        ens->cancels.from = job->ens_next;
        job_cancel(engine, job);
    }
    if (ens->cancels.from != NULL)
        alarm_set(engine, &ens->due_alarm, engine_now(engine));
    cancel_gather(engine, ens, ens->cancels.from != NULL);
}

void dispatch_ensemble(struct engine *engine, struct live_ensemble *ens)
{
    int64_t now = engine_now(engine), tally[MEMBER_STATE_COUNT];

    if (after_look(engine, ens)) {
        alarm_set(engine, &ens->due_alarm, now + AFTER_LOOK_MS);
        return;
    }
    schedule_enter(engine, ens);
    if (dispatch_training_is_due(engine, ens) && schedule_may_train(engine, ens)) {
        training_start(engine, ens); /* touches the ensemble */
        schedule_enter(engine, ens); /* it waits no longer: from now on others leave room for the next one that does */
    }
    if (ens->row.state == ENSEMBLE_RUNNING && ens->in_flight < ens->row.width && ens->due > now)
        alarm_set(engine, &ens->due_alarm, ens->due);
    else
        alarm_set(engine, &ens->due_alarm, INT64_MAX); /* an attempt that ends, or a call, touches the ensemble */
    if (early_is_ending(ens))
        early_stop_members(engine, ens);
    if (!ensemble_is_over(&ens->row) && members_over(engine, ens, tally)) {
        if (ens->training == NULL || ens->training->row.state == TRAINING_DONE)
            complete(engine, ens, tally);
        else
            training_members_over(engine, ens);
    }
    if (!ensemble_is_over(&ens->row)) {
        renew_stop_stale(engine, ens);
        if (ens->allocation != NULL)
            pilot_dispatch(engine, ens);
        cancel_release(engine, ens);
        return;
    }
    cancel_jobs(engine, ens);
    cancel_release(engine, ens);
    if (ens->jobs == NULL && !ens->bulk && (ens->training == NULL || training_is_over(&ens->training->row)))
        engine_drop_ensemble(engine, ens);
}
