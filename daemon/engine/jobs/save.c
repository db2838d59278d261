/* Writes some states a little later than they are known: that a job was submitted, and that its members run. After a
 * crash the run directory and the scheduler would report these again. Most jobs that end sooner are then written once,
 * with their end. */
#include "daemon/engine/jobs/save.h"

#include "common/stretto_assert.h"
#include "common/text.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/slot.h"
#include "daemon/store/attempt.h"
#include "daemon/store/job.h"

#include <utlist.h>

#define SAVE_MS 50

static void save_set_alarm(struct engine *engine)
{
    alarm_set(engine, &engine->save, engine->unsaved_jobs ? engine->unsaved_jobs->saving.save_ms : INT64_MAX);
}

void job_save_later(struct engine *engine, struct live_job *job)
{
    if (job->saving.unsaved)
        return;
    stretto_assert(job->row.state != JOB_ENDED);
    job->saving.unsaved = true;
    job->saving.save_ms = engine_now(engine) + SAVE_MS;
    DL_APPEND2(engine->unsaved_jobs, job, saving.prev_unsaved, saving.next_unsaved);
    if (engine->unsaved_jobs == job)
        save_set_alarm(engine);
}

void job_saved(struct engine *engine, struct live_job *job)
{
    if (!job->saving.unsaved)
        return;
    job->saving.unsaved = false;
    DL_DELETE2(engine->unsaved_jobs, job, saving.prev_unsaved, saving.next_unsaved);
    if (engine->unsaved_jobs == NULL)
        save_set_alarm(engine);
}

void slot_tell_running(struct engine *engine, struct live_job *job, struct slot *slot)
{
    if (!slot->untold)
        return;
    slot->untold = false;
    engine_event_of_attempt(engine, "member.running", job->row.ensemble, slot->index, slot->number, "");
}

static void save_slot(struct engine *engine, struct live_job *job, struct slot *slot)
{
    struct attempt_row attempt = {.ensemble = job->row.ensemble,
                                  .index = slot->index,
                                  .number = slot->number,
                                  .end.started_ms = job->row.started_ms};
    struct member_row member = slot_member(job, slot);
    struct error err;

    text_copy(attempt.end.host, sizeof attempt.end.host, job->found.host);
    member.state = MEMBER_RUNNING;
    store_attempt_start(engine->store, &attempt, &err);
    store_member_change(engine->store, &member, &err);
    slot_tell_running(engine, job, slot);
}

void job_save(struct engine *engine, struct live_job *job)
{
    struct error err;

    job_saved(engine, job);
    store_job_update(engine->store, &job->row, &err);
    for (size_t i = 0; i < job->n_slots; i++)
        if (job->slots[i].open && job->slots[i].untold)
            save_slot(engine, job, &job->slots[i]);
}

void save_all(struct engine *engine, int64_t due_ms)
{
    while (engine->unsaved_jobs != NULL && engine->unsaved_jobs->saving.save_ms <= due_ms)
        job_save(engine, engine->unsaved_jobs);
    save_set_alarm(engine);
}

void save_due(struct engine *engine, struct alarm *alarm)
{
    save_all(engine, engine_now(engine));
}
