#include "daemon/engine/trainings/training_life.h"

#include "common/stretto_assert.h"
#include "common/xalloc.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/training.h"
#include "daemon/engine/memory/training_event.h"
#include "daemon/engine/trainings/ranks.h"
#include "daemon/engine/trainings/reclaim.h"

#include <stdlib.h>
#include <string.h>

static void training_look_due(struct engine *engine, struct alarm *alarm)
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
    training->look.ring = training_look_due;
    training->reception_retry.ring = reception_retry;
    training->reclaim.ring = reclaim_look;
    return training;
}

void training_start(struct engine *engine, struct live_ensemble *ens)
{
    struct training *training = ens->training;
    struct job_row row = {
        .ensemble = ens->row.id, .kind = JOB_TRAINING, .size = training->row.ranks, .created_ms = engine_now(engine)};
    struct live_job *job;
    struct error err;

    memcpy(row.adapter, training->row.adapter, sizeof row.adapter);
    stretto_assert(training->job == NULL && training->row.state == TRAINING_PENDING);
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
