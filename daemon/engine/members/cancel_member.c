/* Cancels one member. The wish is stored, and carried out at one of these moments:
 *
 * - A member that waits with a row is cancelled at once.
 * - One that was never tried is cancelled when its turn comes.
 * - One that is under way is cancelled when its attempt ends. Its job is ended for that, unless others share it. */
#include "daemon/engine/members/cancel_member.h"

#include "common/log_changes.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/jobs/cancel.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/store/cancellation.h"

int cancel_member_load(struct engine *engine, struct live_ensemble *ens, struct error *err)
{
    int rc = store_cancellation_any(engine->store, ens->row.id, err);

    ens->cancellations = rc == 1;
    return rc < 0 ? -1 : 0;
}

int cancel_member_asked(struct engine *engine, const struct live_ensemble *ens, int64_t index, struct error *err)
{
    return ens->cancellations ? store_cancellation_has(engine->store, ens->row.id, index, err) : 0;
}

void cancel_member_stop(struct engine *engine, struct live_job *job)
{
    bool any = false;

    if (!(job->ensemble->cancellations || spec_stops_only(job->ensemble->spec)) || job->row.kind != JOB_MEMBERS)
        return;
    for (size_t i = 0; i < job->n_slots; i++) {
        if (job->slots[i].open && job->slots[i].order == SLOT_TO_ITS_END)
            return;
        any = any || job->slots[i].open;
    }
    if (any)
        job_cancel(engine, job);
}

static void stop_attempt(struct engine *engine, struct live_ensemble *ens, int64_t index)
{
    for (struct live_job *job = ens->jobs; job != NULL; job = job->ens_next) {
        for (size_t i = 0; job->row.kind == JOB_MEMBERS && i < job->n_slots; i++) {
            if (!job->slots[i].open || job->slots[i].index != index)
                continue;
            job->slots[i].order = SLOT_CANCELLED;
            cancel_member_stop(engine, job);
            return;
        }
    }
}

/* Returns whether nothing can become of the member any more. One that was stopped early may be promoted, or go on. */
static bool member_is_over(const struct ensemble_row *row, const struct member_row *member)
{
    return member->state > MEMBER_RUNNING && (member->state != MEMBER_STOPPED || ensemble_is_over(row));
}

/* Cancels a member that is not over. `has_row`: the member waits or is under way; otherwise it was never tried. */
static int cancel_unfinished(struct engine *engine, struct live_ensemble *ens, struct member_row *member, bool has_row,
                             struct error *err)
{
    if (store_cancellation_put(engine->store, ens->row.id, member->index, engine_now(engine), err) < 0)
        return -1;
    ens->cancellations = true;
    if (!has_row)
        return 0;
    if (member->state == MEMBER_SUBMITTED || member->state == MEMBER_RUNNING) {
        stop_attempt(engine, ens, member->index);
        return 0;
    }
    member->state = MEMBER_CANCELLED;
    member->not_before_ms = 0;
    ens->due = 0; /* it may have been the one that was due */
    return store_member_change(engine->store, member, err);
}

int engine_cancel_member(struct engine *engine, int64_t id, int64_t index, bool *cancelled, struct ensemble_row *row,
                         struct error *err)
{
    struct live_ensemble *ens;
    struct member_row member;
    int rc, asked;

    *cancelled = false;
    if (engine_wake_up(engine, err) < 0 || engine_stored_ensemble(engine, id, row, err) < 0)
        return -1;
    rc = engine_named_member(engine, row, index, &member, err);
    if (rc < 0)
        return -1;
    *cancelled = rc == 1 ? member.state == MEMBER_CANCELLED : ensemble_is_stopped(row);
    if (*cancelled || (rc == 1 && member_is_over(row, &member)))
        return 0;
    asked = store_cancellation_has(engine->store, id, index, err);
    if (asked < 0 || engine_open_ensemble(engine, id, &ens, err) < 0)
        return -1;
    *cancelled = true;
    if (asked == 1)
        return 0;
    if (rc == 0)
        member = (struct member_row){.ensemble = id, .index = index};
    if (cancel_unfinished(engine, ens, &member, rc == 1, err) < 0)
        return -1;
    engine_event(engine, "member.cancelled", id, index, NULL);
    log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(id), "member %lld.%lld is cancelled", (long long)id, (long long)index);
    engine_touch(engine, ens);
    engine_settle_for(engine, ens, row, NULL);
    return 0;
}
