/* The life of a training: its job, and how it ends. ranks.c reads what its ranks report meanwhile. */
#include "daemon/engine/training.h"

#include "common/log.h"
#include "common/log_changes.h"
#include "common/xalloc.h"
#include "daemon/engine/alarm.h"
#include "daemon/engine/core.h"
#include "daemon/engine/dispatch.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/ensemble.h"
#include "daemon/engine/hosts.h"
#include "daemon/engine/job.h"
#include "daemon/engine/outcome.h"
#include "daemon/engine/ranks.h"
#include "daemon/engine/reclaim.h"
#include "daemon/engine/training_event.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void look(struct engine *engine, struct alarm *alarm)
{
    struct training *training = heap_entry(alarm, struct training, look);

    if (training_is_to_be_read(training))
        training_look(engine, training->ensemble);
    else if (training->row.state == TRAINING_PENDING) /* it may be submitted again now */
        engine_touch(engine, training->ensemble);
}

static void reception_retry(struct engine *engine, struct alarm *alarm)
{
    engine_touch(engine, heap_entry(alarm, struct training, reception_retry)->ensemble);
}

struct training *training_new(struct live_ensemble *ens)
{
    struct training *training = xcalloc(1, sizeof *training);

    training->ensemble = ens;
    training->made_for_it = INT64_MAX;
    training->look.ring = look;
    training->reception_retry.ring = reception_retry;
    training->reclaim.ring = reclaim_look;
    return training;
}

void training_free(struct engine *engine, struct training *training)
{
    if (training == NULL)
        return;
    alarm_set(engine, &training->look, INT64_MAX);
    alarm_set(engine, &training->reception_retry, INT64_MAX);
    alarm_set(engine, &training->reclaim, INT64_MAX);
    hosts_forget(training);
    free(training);
}

void training_start(struct engine *engine, struct live_ensemble *ens)
{
    struct training *training = ens->training;
    struct job_row row = {
        .ensemble = ens->row.id, .kind = JOB_TRAINING, .size = training->row.ranks, .created_ms = engine_now(engine)};
    struct live_job *job;
    struct error err;

    memcpy(row.adapter, training->row.adapter, sizeof row.adapter);
    training_event(training, LIFE_SUBMITTED);
    training->row.ended_ms = 0;
    if (engine_insert_job(engine, &row, &err) < 0 || store_training_update(engine->store, &training->row, &err) < 0)
        return;
    job = job_new(engine, ens, &row, false);
    if (job == NULL)
        return;
    job->slots = xcalloc((size_t)row.size, sizeof *job->slots);
    for (int64_t rank = 0; rank < row.size; rank++)
        job->slots[job->n_slots++] = (struct slot){.index = rank, .number = training->row.generation, .open = true};
    job->open = job->n_slots;
    training->job = job;
    if (training->made_for_it == INT64_MAX)
        training->made_for_it = row.id;
    alarm_set(engine, &training->look, engine_now(engine) + TRAINING_POLL_MS);
    engine_touch(engine, ens); /* the training of another ensemble may be the next to start */
    engine_event(engine, "training.submitted", ens->row.id, -1, json_pack("{s:s}", "job", row.name));
    job_start_committed(engine, job);
}

void training_rank_ended(struct engine *engine, struct live_job *job, struct slot *slot, const struct outcome *out)
{
    struct training *training = job->ensemble->training;
    bool killed = out->how == OUTCOME_KILLED;

    log_change(LOG_LEVEL_INFO, LOG_TRAINING(training->row.ensemble, training->row.id),
               "training %lld rank %lld (job %s) %s%s%s", (long long)training->row.id, (long long)slot->index,
               job->row.name, attempt_outcome_name(out->outcome), out->reason[0] ? ": " : "", out->reason);
    if (out->outcome == ATTEMPT_SUCCEEDED)
        return;
    /* the others of a rank that was killed fail for want of it, maybe in the same moment */
    if (training->failed_as == ATTEMPT_OPEN || (killed && !training->killed) ||
        (killed == training->killed && out->ended_ms < training->failed_ms)) {
        training->failed_ms = out->ended_ms;
        training->failed_as = out->outcome;
        training->killed = killed;
        training->ran = out->started_ms != 0 && out->how != OUTCOME_UNSTARTED;
        snprintf(training->failure, sizeof training->failure, "rank %lld %s: %.400s", (long long)slot->index,
                 attempt_outcome_name(out->outcome), out->reason);
    }
}

bool training_read_rest(struct engine *engine, struct live_ensemble *ens, bool ran)
{
    struct training *training = ens->training;

    if (training->state.stage == STAGE_OPEN && !ran && training->state.reading == READING_NONE) {
        training_event(training, LIFE_ALL_READ);
    } else if (training->state.stage == STAGE_OPEN) {
        training_event(training, LIFE_JOB_OVER);
        training_look(engine, ens);
    }
    return training->state.stage == STAGE_ALL_READ;
}

struct message {
    struct ticket *ticket;
    int64_t generation;
};

struct message *message_new(struct engine *engine, const struct live_ensemble *ens)
{
    struct message *message = xcalloc(1, sizeof *message);

    message->ticket = ticket_new(engine, ens->row.id);
    message->generation = ens->training->row.generation;
    return message;
}

struct live_ensemble *message_redeem(struct message *message, struct engine **engine)
{
    int64_t id, generation = message->generation;
    struct live_ensemble *ens;

    *engine = ticket_redeem(message->ticket, &id);
    free(message);
    ens = *engine ? engine_find_ensemble(*engine, id) : NULL;
    return ens != NULL && ens->training->row.generation == generation ? ens : NULL;
}

static void reception_written(void *arg, const struct error *failed)
{
    struct engine *engine;
    struct live_ensemble *ens = message_redeem(arg, &engine);

    if (ens == NULL)
        return;
    training_event(ens->training, failed == NULL ? LIFE_TOLD : LIFE_NOT_TOLD);
    if (failed == NULL)
        return;
    log_warn_of(LOG_ENSEMBLE(ens->row.id), "ensemble %lld: the end of reception cannot be told yet: %s",
                (long long)ens->row.id, failed->text);
    alarm_set(engine, &ens->training->reception_retry, engine_now(engine) + FILE_RETRY_MS);
}

/* Tells the ranks that no more samples come, once that is committed, because it cannot be taken back later. */
static void members_over_committed(void *arg, const struct error *failed)
{
    int64_t id, tally[MEMBER_STATE_COUNT];
    struct engine *engine;
    struct live_ensemble *ens = message_redeem(arg, &engine);
    struct rundir_file *file;
    struct error err;

    if (ens == NULL || failed != NULL)
        return;
    id = ens->row.id;
    if (store_tally_get(engine->store, id, tally, &err) < 0) {
        reception_written(message_new(engine, ens), &err);
        return;
    }
    file = xcalloc(1, sizeof *file);
    file->path = xasprintf("%s/e%lld/training/g%lld/reception.json", engine->ports.run_dir, (long long)id,
                           (long long)ens->training->row.generation);
    file->json = xasprintf(
        "{\"version\":1,\"over\":true%s,\"succeeded\":%lld,\"other\":%lld}\n",
        ens->training->state.need == NEED_NONE && !dispatch_all_final(&ens->row, tally) ? ",\"early\":true" : "",
        (long long)tally[MEMBER_SUCCEEDED], (long long)(ens->row.count - tally[MEMBER_SUCCEEDED]));
    file->mode = 0600;
    engine->ports.rundir_ops->write(engine->ports.rundir, NULL, 0, file, 1, reception_written,
                                    message_new(engine, ens));
}

/* Tells the ranks that no more samples will come: all members are final, or one of the ranks needs no more. It is done
 * again after a restart, which is harmless. */
void training_members_over(struct engine *engine, struct live_ensemble *ens)
{
    struct training *training = ens->training;

    if (!training_is_to_be_told(training))
        return;
    alarm_set(engine, &training->reception_retry, INT64_MAX);
    training_event(training, LIFE_TELLING);
    turn_after_commit(engine->turn, members_over_committed, message_new(engine, ens));
}

int64_t engine_training_retries_left(struct engine *engine, int64_t id)
{
    const struct live_ensemble *ens = engine_find_ensemble(engine, id);
    int64_t left;

    if (ens == NULL || ens->training == NULL || training_is_over(&ens->training->row))
        return -1;
    left = ens->spec->training_retries - ens->training->row.failures;
    return left > 0 ? left : 0;
}

int engine_each_training(const struct engine *engine, int (*each)(void *arg, const struct training_row *row), void *arg)
{
    int rc = 0;

    for (const struct live_ensemble *ens = engine->ensembles; ens != NULL && rc == 0; ens = ens->hh.next)
        if (ens->training != NULL && training_is_under_way(&ens->training->row))
            rc = each(arg, &ens->training->row);
    return rc;
}
