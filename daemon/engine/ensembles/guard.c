/* The guard. If the first members that end have all failed in the same way, the others would, too, at the cost of a job
 * for each of their attempts. Then no more are started: the ensemble is paused, with the reason, and loses nothing. A
 * user who has removed the cause resumes it. The guard watches until an attempt ends in any other way. A node on which
 * everything fails draws one member after another, while those on other nodes run. So the members that failed must be
 * more than those that run now. */
#include "daemon/engine/ensembles/guard.h"

#include "common/log_changes.h"
#include "daemon/engine/ensembles/pause.h"
#include "daemon/engine/members/bulk.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/store/bulk.h"
#include "daemon/store/cause.h"
#include "daemon/store/family.h"
#include "daemon/store/job.h"

#include <stdio.h>
#include <string.h>

#define JOBS_MAX 1000 /* that are looked at to count what runs */

static bool was_counted(const struct guard *guard, int64_t index)
{
    for (int64_t i = 0; i < guard->n && i < SPEC_SAME_FAILURES_MAX; i++)
        if (guard->members[i] == index)
            return true;
    return false;
}

/* Do fewer members run than have failed? */
static bool few_run(const struct live_ensemble *ens)
{
    int64_t running = 0;
    int looked_at = 0;

    for (const struct live_job *job = ens->jobs; job != NULL && looked_at < JOBS_MAX; job = job->ens_next, looked_at++)
        if (job->row.kind == JOB_MEMBERS && job->found.started)
            running += (int64_t)job->open;
    return running < ens->guard.n;
}

/* Is there anything that it could keep from being started? */
static bool has_rest(struct engine *engine, const struct live_ensemble *ens)
{
    int64_t tally[MEMBER_STATE_COUNT];
    struct error err;

    return store_tally_get(engine->store, ens->row.id, tally, &err) == 0 && tally[MEMBER_PENDING] > 0;
}

/* Ends the ensemble because as many members have failed as the spec allows. Members that wait are cancelled, those that
 * run go on to their end, and then the ensemble has failed. */
static void end_for_failures(struct engine *engine, struct live_ensemble *ens, int64_t failed, const char *last)
{
    struct ensemble_row *row = &ens->row;
    struct error err;

    snprintf(row->reason, sizeof row->reason,
             "%lld members have failed, and max_failures lets it start no more after %lld; the last: %.300s",
             (long long)failed, (long long)ens->spec->max_failures, last);
    if ((row->root != 0 && row->next_index < row->count && store_handover_end(engine->store, row, &err) < 0) ||
        store_ensemble_update(engine->store, row, &err) < 0 || store_bulk_end_all(engine->store, row->id, &err) < 0 ||
        bulk_begin(engine, ens, &(struct bulk){.kind = BULK_CANCEL, .ensemble = row->id}, &err) < 0)
        return; /* the turn is rolled back as a whole */
    engine_event(engine, "ensemble.ending", row->id, -1, json_pack("{s:s}", "reason", row->reason));
    log_change(LOG_LEVEL_WARN, LOG_ENSEMBLE(row->id), "ensemble %lld is ending: %s", (long long)row->id, row->reason);
}

/* 1: it is ending now. */
static int check_failures(struct engine *engine, struct live_ensemble *ens, const struct member_row *member,
                          const char *reason)
{
    int64_t tally[MEMBER_STATE_COUNT];
    struct error err;

    if (ens->spec->max_failures == 0 || member->state != MEMBER_FAILED || ensemble_is_over(&ens->row) ||
        store_tally_get(engine->store, ens->row.id, tally, &err) < 0 || tally[MEMBER_FAILED] < ens->spec->max_failures)
        return 0;
    if (ens->row.state == ENSEMBLE_PAUSED)
        ens->row.state = ENSEMBLE_RUNNING;
    end_for_failures(engine, ens, tally[MEMBER_FAILED], reason);
    return 1;
}

void guard_note(struct engine *engine, struct live_ensemble *ens, const struct member_row *member,
                enum attempt_outcome outcome, const char *why)
{
    struct guard *guard = &ens->guard;
    char as[sizeof guard->as], reason[sizeof ens->row.reason];

    if (ensemble_is_ending(&ens->row) || check_failures(engine, ens, member, why) == 1)
        return;
    if (guard->over || ens->spec->same_failures == 0 || outcome == ATTEMPT_LOST || outcome == ATTEMPT_CANCELLED)
        return;
    cause_text(why, as, sizeof as);
    if (outcome != ATTEMPT_FAILED || (guard->n > 0 && strcmp(as, guard->as) != 0)) {
        guard->over = true;
        return;
    }
    memcpy(guard->as, as, sizeof as);
    if (was_counted(guard, member->index))
        return;
    if (guard->n < SPEC_SAME_FAILURES_MAX)
        guard->members[guard->n] = member->index;
    guard->n++;
    if (ens->row.state != ENSEMBLE_RUNNING || guard->n < ens->spec->same_failures || !few_run(ens) ||
        !has_rest(engine, ens))
        return;
    snprintf(reason, sizeof reason,
             "the first %lld members that ended have all failed in the same way (%.250s), so no more are started. "
             "Mend the cause, then `stretto resume %lld`; or `stretto cancel %lld`",
             (long long)guard->n, why, (long long)ens->row.id, (long long)ens->row.id);
    pause_for(engine, ens, reason);
}

int guard_init(struct engine *engine, struct live_ensemble *ens, struct error *err)
{
    int64_t tally[MEMBER_STATE_COUNT];

    ens->guard = (struct guard){0};
    if (ens->row.next_index == 0 && ens->row.root == 0)
        return 0;
    if (store_tally_get(engine->store, ens->row.id, tally, err) < 0)
        return -1;
    ens->guard.over = tally[MEMBER_SUCCEEDED] + tally[MEMBER_UNFINISHED] + tally[MEMBER_STOPPED] > 0;
    return 0;
}
