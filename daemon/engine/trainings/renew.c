#include "daemon/engine/trainings/renew.h"

#include "common/log_changes.h"
#include "common/stretto_assert.h"
#include "common/text.h"
#include "daemon/engine/jobs/cancel.h"
#include "daemon/engine/members/bulk.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/elastic.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/slot.h"
#include "daemon/engine/memory/training.h"
#include "daemon/engine/memory/training_event.h"
#include "daemon/engine/trainings/reclaim.h"
#include "daemon/store/bulk.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/generation.h"
#include "daemon/store/job.h"
#include "daemon/store/training_checkpoint.h"

#include <stdio.h>

bool renew_count_end(struct live_ensemble *ens, enum generation_end end, bool reached, bool further)
{
    const struct training *training = ens->training;
    struct training_row *row = &ens->training->row;
    bool killed = training->killed || (training->failed_as == ATTEMPT_LOST && training->ran);
    enum retries_end as = end == GENERATION_FAILED ? RETRIES_OWN_FAULT
                          : further                ? RETRIES_GOT_FURTHER
                          : killed                 ? RETRIES_LOST
                                                   : RETRIES_TOLD;

    if (ensemble_is_stopped(&ens->row))
        return false;
    if (end == GENERATION_OUT_OF_TIME)
        row->losses = 0;
    if (end != GENERATION_FAILED && end != GENERATION_LOST)
        return end == GENERATION_OUT_OF_TIME;
    return retries_count(as, ens->spec->training_retries, &row->failures, &row->losses) &&
           (end == GENERATION_LOST || reached || ensemble_has_former(ens));
}

/* Begins to send members back that are not whole in the checkpoint; 0 sends all back. If all is kept that was ever
 * acknowledged, only members that succeeded are looked at, and checkpoints of the others still count. */
static int send_back(struct engine *engine, struct live_ensemble *ens, int64_t checkpoint, bool kept, struct error *err)
{
    static const enum member_state states[] = {MEMBER_SUCCEEDED, MEMBER_UNFINISHED, MEMBER_PENDING};

    for (size_t i = 0; i < (kept ? 1 : sizeof states / sizeof *states); i++)
        if (bulk_begin(engine, ens, &(struct bulk){BULK_RESUBMIT, ens->row.id, 0, states[i], true, checkpoint}, err) <
            0)
            return -1;
    return 0;
}

static void tell_renewed(struct engine *engine, const struct live_ensemble *ens,
                         const struct training_checkpoint_row *newest, const char *reason)
{
    const struct training_row *row = &ens->training->row;
    const char *name = newest->number > 0 ? newest->name : NULL;
    long long members = (long long)(ens->row.count - newest->members);

    log_change(row->not_before_ms > row->ended_ms ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, LOG_TRAINING(ens->row.id, row->id),
               "training %lld: generation %lld of its ranks ended: %s; the next one begins %s%s, and lacks samples of "
               "%lld members",
               (long long)row->id, (long long)row->generation - 1, reason, name != NULL ? "from checkpoint " : "anew",
               name != NULL ? name : "", members);
    engine_event(engine, "training.restarted", ens->row.id, -1,
                 json_pack("{s:I, s:s, s:s?, s:I}", "generation", (json_int_t)row->generation, "reason", reason,
                           "checkpoint", name, "members", (json_int_t)members));
}

void renew_row(struct training_row *row, int64_t generation, const struct training_checkpoint_row *from)
{
    stretto_assert(generation > 0);
    row->generation = generation;
    row->restarts = 0;
    row->started_ms = 0;
    row->missing[0] = '\0';
    row->resumed = (struct training_resumed){.step = from->step, .batches = from->batches, .drawn = from->drawn};
    if (from->number > 0)
        text_copy(row->resumed.name, sizeof row->resumed.name, from->name);
}

void renew_take_wanted(struct training_row *row)
{
    if (row->wanted > 0)
        row->ranks = row->wanted;
    row->wanted = 0;
}

void renew_training(struct engine *engine, struct live_ensemble *ens, enum generation_end end,
                    const struct training_checkpoint_row *newest, int64_t held, const char *reason)
{
    struct training *training = ens->training;
    struct training_row *row = &training->row;
    bool further = newest->generation == row->generation; /* which left a checkpoint */
    bool kept = newest->last && further;                  /* its ranks have taken nothing after it */
    struct error err;

    snprintf(row->reason, sizeof row->reason, "generation %lld: %.400s", (long long)row->generation, reason);
    training_event(training, LIFE_RENEWED);
    renew_row(row, row->generation + 1, newest);
    row->ended_ms = row->not_before_ms = engine_now(engine);
    if (end != GENERATION_OUT_OF_TIME)
        row->not_before_ms = row->ended_ms + engine_backoff(further           ? 1
                                                            : row->losses > 0 ? row->losses
                                                                              : row->failures);
    tell_renewed(engine, ens, newest, reason);
    if (!kept) {
        row->keeps = row->generation;
        training->made_for_it = INT64_MAX;
    }
    renew_take_wanted(row);
    ens->spec->training.resources.copies = (int)row->ranks;
    training->failed_as = ATTEMPT_OPEN;
    training->failed_ms = 0;
    training->killed = training->ran = false;
    training->began = training_began_with(row);
    training->waits = (struct waits){0};
    elastic_restart(ens);
    training->heard_ms = 0;
    if (store_training_update(engine->store, row, &err) < 0 ||
        (end == GENERATION_LOST && store_generation_was_lost(engine->store, row->id, row->generation - 1, &err) < 0) ||
        (!kept && store_generation_lost(engine->store, row->id, row->generation,
                                        held > newest->drawn ? held - newest->drawn : 0, &err) < 0) ||
        send_back(engine, ens, newest->number, kept, &err) < 0) {
        store_doom(engine->store, &err); /* since nothing else would make the training begin again */
        return;
    }
    alarm_set(engine, &training->reception_retry, INT64_MAX);
    renew_wait(engine, ens);
    ens->due = 0; /* the members are pending again and due at once */
    engine_touch(engine, ens);
}

void renew_wait(struct engine *engine, struct live_ensemble *ens)
{
    struct training *training = ens->training;

    if (!ensemble_has_former(ens))
        return;
    reclaim_wait(engine, ens);
    if (training->row.state != TRAINING_PENDING)
        return;
    alarm_set(engine, &training->look, training->row.not_before_ms);
}

void renew_stop_stale(struct engine *engine, struct live_ensemble *ens)
{
    int n = 0;

    if (!ensemble_has_former(ens))
        return;
    for (struct live_job *job = ens->jobs; job != NULL; job = job->ens_next) {
        if (job->row.kind != JOB_MEMBERS || job->row.cancel || job->open == 0)
            continue;
        if (!job_is_stale(job) || n++ >= DISPATCH_MAX) /* in the order of ids, so none after it is stale */
            break;
        job_cancel(engine, job);
    }
    if (n > DISPATCH_MAX)
        alarm_set(engine, &ens->due_alarm, engine_now(engine));
    if (n > 0)
        cancel_gather(engine, ens, n > DISPATCH_MAX);
}

int renew_note_again(struct engine *engine, const struct live_ensemble *ens, const struct member_row *member,
                     struct error *err)
{
    const struct training *training = ens->training;

    if (training == NULL || training->row.keeps == 1 || member->attempts == 1)
        return 0;
    return store_generation_again(engine->store, &training->row, member->index, member->attempts, training->made_for_it,
                                  err);
}
