/* The life of a training: its job, and how it ends. ranks.c reads what its ranks report meanwhile. */
#include "daemon/engine/internal.h"

#include "daemon/engine/reclaim.h"

#include "common/log.h"
#include "common/log_changes.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void look(struct engine *engine, struct alarm *alarm)
{
    struct training *training = heap_entry(alarm, struct training, look);

    if ((training->job != NULL || training->stage != STAGE_OPEN) && training->row.state < TRAINING_DONE)
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
    struct job_row row = {.ensemble = ens->row.id, .kind = JOB_TRAINING, .size = training->row.ranks,
                          .created_ms = engine_now(engine)};
    struct live_job *job;
    struct error err;

    memcpy(row.adapter, training->row.adapter, sizeof row.adapter);
    training->row.state = TRAINING_SUBMITTED;
    training->row.ended_ms = 0;
    if (store_job_insert(engine->store, &row, &err) < 0 ||
        store_training_update(engine->store, &training->row, &err) < 0)
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
    training->ranks_succeeded = true;
    alarm_set(engine, &training->look, engine_now(engine) + TRAINING_POLL_MS);
    engine_touch(engine, ens); /* the training of another ensemble may be the next to start */
    engine_event(engine, "training.submitted", ens->row.id, -1, json_pack("{s:s}", "job", row.name));
    job_start_committed(engine, job);
}

void training_rank_ended(struct engine *engine, struct live_job *job, struct slot *slot, const struct outcome *out)
{
    struct training *training = job->ensemble->training;

    log_change(LOG_LEVEL_INFO, LOG_TRAINING(training->row.ensemble, training->row.id),
                "training %lld rank %lld (job %s) %s%s%s",
                (long long)training->row.id, (long long)slot->index, job->row.name,
                attempt_outcome_name(out->outcome), out->reason[0] ? ": " : "", out->reason);
    if (out->outcome == ATTEMPT_SUCCEEDED)
        return;
    if (training->ranks_succeeded || out->ended_ms < training->failed_ms) {
        training->failed_ms = out->ended_ms;
        training->failed_as = out->outcome;
        snprintf(training->failure, sizeof training->failure, "rank %lld %s: %.400s", (long long)slot->index,
                 attempt_outcome_name(out->outcome), out->reason);
    }
    training->ranks_succeeded = false;
}

bool training_is_read(struct engine *engine, struct live_ensemble *ens, bool ran)
{
    struct training *training = ens->training;

    if (training->stage == STAGE_OPEN) {
        training->stage = ran || training->reading != READING_NONE ? STAGE_JOB_OVER : STAGE_ALL_READ;
        if (training->stage == STAGE_JOB_OVER)
            training_look(engine, ens);
    }
    return training->stage == STAGE_ALL_READ;
}

/* The message to one generation of the ranks that no more members come, while it is being written. */
struct telling {
    struct ticket *ticket;
    int64_t generation;
};

static struct telling *telling_new(struct engine *engine, const struct live_ensemble *ens)
{
    struct telling *telling = xcalloc(1, sizeof *telling);

    telling->ticket = ticket_new(engine, ens->row.id);
    telling->generation = ens->training->row.generation;
    return telling;
}

/* Frees the message. Returns its ensemble, or NULL if that generation of the ranks is gone. */
static struct live_ensemble *telling_redeem(struct telling *telling, struct engine **engine)
{
    int64_t id, generation = telling->generation;
    struct live_ensemble *ens;

    *engine = ticket_redeem(telling->ticket, &id);
    free(telling);
    ens = *engine ? engine_find_ensemble(*engine, id) : NULL;
    return ens != NULL && ens->training->row.generation == generation ? ens : NULL;
}

static void reception_written(void *arg, const struct error *failed)
{
    struct engine *engine;
    struct live_ensemble *ens = telling_redeem(arg, &engine);

    if (ens == NULL)
        return;
    ens->training->reception = failed == NULL ? RECEPTION_TOLD : RECEPTION_OPEN;
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
    struct live_ensemble *ens = telling_redeem(arg, &engine);
    struct rundir_file *file;
    struct error err;

    if (ens == NULL || failed != NULL)
        return;
    id = ens->row.id;
    if (store_tally_get(engine->store, id, tally, &err) < 0) {
        reception_written(telling_new(engine, ens), &err);
        return;
    }
    file = xcalloc(1, sizeof *file);
    file->path = xasprintf("%s/e%lld/training/g%lld/reception.json", engine->ports.run_dir, (long long)id,
                           (long long)ens->training->row.generation);
    file->json = xasprintf("{\"version\":1,\"over\":true%s,\"succeeded\":%lld,\"other\":%lld}\n",
                           ens->training->early && !dispatch_all_final(&ens->row, tally) ? ",\"early\":true" : "",
                           (long long)tally[MEMBER_SUCCEEDED],
                           (long long)(ens->row.count - tally[MEMBER_SUCCEEDED]));
    file->mode = 0600;
    engine->ports.rundir_ops->write(engine->ports.rundir, NULL, 0, file, 1, reception_written,
                                    telling_new(engine, ens));
}

/* Tells the ranks that no more samples will come: all members are final, or one of the ranks needs no more. It is done again after a restart, which is
 * harmless. */
void training_members_over(struct engine *engine, struct live_ensemble *ens)
{
    struct training *training = ens->training;

    if (training->reception != RECEPTION_OPEN || training->job == NULL)
        return;
    alarm_set(engine, &training->reception_retry, INT64_MAX);
    training->reception = RECEPTION_TELLING;
    turn_after_commit(engine->turn, members_over_committed, telling_new(engine, ens));
}

int64_t engine_training_retries_left(struct engine *engine, int64_t id)
{
    const struct live_ensemble *ens = engine_find_ensemble(engine, id);
    int64_t left;

    if (ens == NULL || ens->training == NULL || ens->training->row.state >= TRAINING_DONE)
        return -1;
    left = ens->spec->training_retries - ens->training->row.failures;
    return left > 0 ? left : 0;
}

int engine_each_training(const struct engine *engine, int (*each)(void *arg, const struct training_row *row), void *arg)
{
    int rc = 0;

    for (const struct live_ensemble *ens = engine->ensembles; ens != NULL && rc == 0; ens = ens->hh.next)
        if (ens->training != NULL &&
            (ens->training->row.state == TRAINING_SUBMITTED || ens->training->row.state == TRAINING_RUNNING))
            rc = each(arg, &ens->training->row);
    return rc;
}
