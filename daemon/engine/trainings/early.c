#include "daemon/engine/trainings/early.h"

#include "common/log_changes.h"
#include "common/text.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/jobs/cancel.h"
#include "daemon/engine/members/bulk.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/facts.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/training.h"
#include "daemon/engine/memory/training_event.h"
#include "daemon/engine/trainings/missing.h"
#include "daemon/engine/trainings/training_tell.h"
#include "daemon/store/bulk.h"
#include "daemon/store/family.h"
#include "daemon/store/job.h"

#include <stdio.h>
#include <string.h>

void early_note(struct engine *engine, struct live_ensemble *ens, json_t *const *json)
{
    struct training *training = ens->training;

    for (int64_t rank = 0; rank < training->row.ranks; rank++)
        if (json_is_true(json_object_get(json[rank * RANK_FILES + RANK_FILE_DONE], "early")))
            training_event(training, LIFE_ENOUGH);
    if (training->state.need == NEED_NONE && training->state.stage == STAGE_OPEN)
        training_members_over(engine, ens);
}

bool early_is_end(const struct live_ensemble *ens, const int64_t tally[MEMBER_STATE_COUNT], const struct rank_row *sum)
{
    return ens->training->state.need == NEED_NONE &&
           (!ensemble_all_final(&ens->row, tally) || tally[MEMBER_UNFINISHED] > 0 || sum->drawn < sum->unique);
}

/* The ensemble is ending for another reason, so that it fails; nothing but its training's end stops what still runs. */
static void fail_now(struct engine *engine, struct live_ensemble *ens)
{
    char reason[sizeof ens->row.reason];

    text_copy(reason, sizeof reason, ens->row.reason);
    fact_to_stop(engine, ens->row.id, reason);
}

void early_end(struct engine *engine, struct live_ensemble *ens, bool all_final)
{
    struct ensemble_row *row = &ens->row;
    struct error err;

    if (ensemble_is_stopped(row))
        return;
    if (ensemble_is_ending(row)) {
        if (!all_final)
            fail_now(engine, ens);
        return;
    }
    ens->training->row.early = true;
    if (row->state == ENSEMBLE_PAUSED) {
        row->state = ENSEMBLE_RUNNING;
        row->paused_by[0] = '\0';
        row->paused_ms = 0;
    }
    snprintf(row->reason, sizeof row->reason, "the training ended early: it says that it has learnt enough");
    if ((row->root != 0 && row->next_index < row->count && store_handover_end(engine->store, row, &err) < 0) ||
        store_ensemble_update(engine->store, row, &err) < 0)
        return; /* the turn is rolled back as a whole */
    engine_event(engine, "ensemble.ending", row->id, -1, json_pack("{s:s}", "reason", row->reason));
    log_change(LOG_LEVEL_INFO, LOG_ENSEMBLE(row->id), "ensemble %lld is ending: %s", (long long)row->id, row->reason);
}

static bool stop_jobs(struct engine *engine, struct live_ensemble *ens)
{
    int n = 0;

    for (struct live_job *job = ens->jobs; job != NULL && n <= DISPATCH_MAX; job = job->ens_next)
        if (job->row.kind == JOB_MEMBERS && !job->row.cancel && job->open > 0 && n++ < DISPATCH_MAX)
            job_cancel(engine, job);
    if (n > 0)
        cancel_gather(engine, ens, n > DISPATCH_MAX);
    return n <= DISPATCH_MAX;
}

void early_stop_members(struct engine *engine, struct live_ensemble *ens)
{
    int64_t tally[MEMBER_STATE_COUNT];
    struct error err;

    if (!stop_jobs(engine, ens))
        alarm_set(engine, &ens->due_alarm, engine_now(engine));
    if (ens->bulk) /* it may send members back that are to be cancelled afterwards */
        return;
    if (store_tally_get(engine->store, ens->row.id, tally, &err) < 0 ||
        (tally[MEMBER_PENDING] > 0 &&
         bulk_begin(engine, ens, &(struct bulk){.kind = BULK_CANCEL, .ensemble = ens->row.id}, &err) < 0))
        store_doom(engine->store, &err); /* since nothing else would make the engine look again */
}

/* Adds a number of things that were not needed to the sentence, if there are any. Returns the sentence's length. */
static size_t add_unneeded(char *out, size_t size, size_t at, int64_t n, const char *things)
{
    static const char first[] = ", and did not need ", next[] = ", nor ";

    if (n > 0 && at < size)
        at += (size_t)snprintf(out + at, size - at, "%s%lld %s", strstr(out, first) == NULL ? first : next,
                               (long long)n, things);
    return at;
}

void early_tell(struct engine *engine, const struct live_ensemble *ens, const int64_t tally[MEMBER_STATE_COUNT],
                char *out, size_t size)
{
    const struct training_row *row = &ens->training->row;
    struct rank_row sum = {0};
    json_t *missing;
    struct error err;
    char members[64];
    size_t at;

    if (store_rank_sum(engine->store, row, &sum, &err) < 0)
        store_doom(engine->store, &err);
    missing_steps(row, &missing);
    snprintf(members, sizeof members, "of %lld members", (long long)ens->row.count);
    at = (size_t)snprintf(out, size, "the training ended early: it has learnt enough");
    at = add_unneeded(out, size, at, ens->row.count - tally[MEMBER_SUCCEEDED] - tally[MEMBER_FAILED], members);
    at = add_unneeded(out, size, at, json_integer_value(json_object_get(missing, "unneeded")),
                      "steps that had not come");
    add_unneeded(out, size, at, sum.unique - sum.drawn, "samples that had come");
    json_decref(missing);
}
