/* The object: a job in memory, its states, and the lists on which it is. Its life is in job_life.c. */
#include "daemon/engine/memory/job.h"

#include "common/log.h"
#include "common/stretto_assert.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/facts.h"
#include "daemon/engine/memory/job_event.h"
#include "daemon/engine/memory/pilot.h"
#include "daemon/engine/memory/places.h"
#include "daemon/engine/memory/polls.h"
#include "daemon/engine/memory/slot.h"
#include "daemon/spec/needs.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static void job_retry(struct engine *engine, struct alarm *alarm)
{
    struct live_job *job = heap_entry(alarm, struct live_job, retry);

    job_post(engine, job, EVENT_TIMER);
    job_touch(engine, job);
}

const struct job_scheduler *job_scheduler(const struct live_job *job)
{
    return job_is_inside(job) ? job->ensemble->allocation->scheduler : &job->adapter->scheduler;
}

void job_touch(struct engine *engine, struct live_job *job)
{
    stretto_assert(job->row.state != JOB_ENDED); /* it is about to be freed */
    if (job->touched.is)
        return;
    job->touched.is = true;
    DL_APPEND2(engine->to_settle.jobs, job, touched.prev, touched.next);
}

struct live_job *job_new(struct engine *engine, struct live_ensemble *ens, const struct job_row *row, bool loaded)
{
    struct known_adapter *adapter;
    struct live_job *job;

    HASH_FIND_STR(engine->adapters, row->adapter, adapter);
    if (adapter == NULL) {
        log_error_of(LOG_JOB(row->ensemble, row->name), "job %s: there is no adapter \"%s\" here; it is left alone",
                     row->name, row->adapter);
        return NULL;
    }
    job = xcalloc(1, sizeof *job);
    job->row = *row;
    job_states_init(&job->state, loaded);
    job->ensemble = ens;
    job->adapter = adapter;
    job->retry.ring = job_retry;
    HASH_ADD(hh, engine->jobs, row.id, sizeof job->row.id, job);
    DL_APPEND2(ens->jobs, job, ens_prev, ens_next);
    places_account(job, 1);
    return job;
}

void job_find_resources(struct live_job *job)
{
    struct error ignored; /* a member that has none is refused when its job is planned */

    if (job->own != NULL || job->n_slots == 0 || job->row.kind != JOB_MEMBERS ||
        job->ensemble->spec->members.needs == NULL)
        return;
    places_account(job, -1);
    job->own = xcalloc(1, sizeof *job->own);
    needs_of(job->ensemble->spec, job->slots[0].index, job->own, &ignored);
    places_account(job, 1);
}

static struct live_job **list_of(const struct live_job *job, enum job_list list)
{
    return list == JOB_LIST_UNASKED ? &job->adapter->unasked : &job->adapter->polled;
}

static void file_under(struct live_job *job, enum job_list list)
{
    struct known_adapter *adapter = job->adapter;

    if (job->list != JOB_LIST_NONE)
        DL_DELETE(*list_of(job, job->list), job);
    if (list != JOB_LIST_NONE)
        DL_APPEND(*list_of(job, list), job);
    adapter->n_unasked += (size_t)(list == JOB_LIST_UNASKED) - (job->list == JOB_LIST_UNASKED);
    adapter->n_polled += (size_t)(list == JOB_LIST_POLLED) - (job->list == JOB_LIST_POLLED);
    job->list = list;
}

void job_file(struct engine *engine, struct live_job *job)
{
    enum job_list list = JOB_LIST_NONE;
    bool polled = job_scheduler(job)->polled;

    if (polled && job->state.belief == BELIEF_UNASKED)
        list = JOB_LIST_UNASKED;
    else if (polled && job->state.belief >= BELIEF_QUEUED) /* also gone ones, which may come back until given up */
        list = JOB_LIST_POLLED;
    if (list == job->list)
        return;
    file_under(job, list);
    if (list != JOB_LIST_NONE)
        poll_linger(engine, job->adapter);
    if (list == JOB_LIST_UNASKED)
        poll_soon(engine, job->adapter);
    else if (list == JOB_LIST_POLLED)
        poll_by(engine, job->adapter, engine_now(engine) + job->adapter->poll_ms);
}

void job_post(struct engine *engine, struct live_job *job, enum job_event event)
{
    job_states_change(&job->state, &job->row.state, event);
    if (event == EVENT_TOLD_ENDED || event == EVENT_TOLD_FORGOTTEN)
        job->told.gone_ms = engine_now(engine);
    else if (event == EVENT_TOLD_QUEUED || event == EVENT_TOLD_RUNNING || event == EVENT_AGAIN)
        job->found.missing_ms = 0;
    job_file(engine, job);
}

void job_free(struct engine *engine, struct live_job *job)
{
    stretto_assert(job->pilot == NULL && job->node == NULL && !job->saving.unsaved && job->feed.state == FEED_NONE);
    HASH_DEL(engine->jobs, job);
    file_under(job, JOB_LIST_NONE);
    alarm_set(engine, &job->retry, INT64_MAX);
    places_account(job, -1);
    if (job->touched.is)
        DL_DELETE2(engine->to_settle.jobs, job, touched.prev, touched.next);
    if (job->ensemble->cancels.from == job)
        job->ensemble->cancels.from = job->ens_next;
    DL_DELETE2(job->ensemble->jobs, job, ens_prev, ens_next);
    json_decref(job->found.records);
    free(job->told.waits_for);
    for (size_t i = 0; i < job->n_slots; i++)
        slot_forget_series(&job->slots[i]);
    free(job->slots);
    free(job->own);
    free(job->found.hosts);
    free(job);
}

void job_retry_in(struct engine *engine, struct live_job *job, int64_t ms)
{
    alarm_set(engine, &job->retry, engine_now(engine) + ms);
}

void job_close_slot(struct engine *engine, struct live_job *job, struct slot *slot, const struct attempt_end *end)
{
    if (!slot->open)
        return;
    stretto_assert(job->open > 0 && slot >= job->slots && slot < job->slots + job->n_slots);
    slot->open = false;
    slot_forget_series(slot);
    job->open--;
    if (job->pilot != NULL) {
        job->pilot->outcome = end->outcome;
        memcpy(job->pilot->reason, end->reason, sizeof job->pilot->reason);
    } else {
        fact_attempt_ended(engine, job, slot, end);
    }
    engine_touch(engine, job->ensemble);
}

void job_fail_open(struct engine *engine, struct live_job *job, enum attempt_outcome outcome, const char *reason,
                   json_t *const *checkpoints)
{
    bool returned = job_scheduler(job)->returns_jobs && !job->found.started;
    int64_t now = engine_now(engine);
    size_t next = 0;

    for (size_t i = 0; i < job->n_slots; i++) {
        struct attempt_end end = {.outcome = outcome,
                                  .exit_code = -1,
                                  .started_ms = job->row.started_ms,
                                  .ended_ms = now,
                                  .final = outcome == ATTEMPT_FAILED,
                                  .how = returned && outcome == ATTEMPT_LOST ? ATTEMPT_UNSTARTED : ATTEMPT_RAN};

        if (job->slots[i].open && checkpoints != NULL)
            end.checkpoints = checkpoints[next++];
        text_copy(end.reason, sizeof end.reason, reason);
        job_close_slot(engine, job, &job->slots[i], &end);
    }
}

void job_over(struct engine *engine, struct live_job *job, const char *reason)
{
    if (!job->ending.over)
        text_copy(job->row.reason, sizeof job->row.reason, reason);
    job->ending.over = true;
    job_touch(engine, job);
}

struct live_job *job_of_ticket(void *ticket, struct engine **engine)
{
    int64_t id;

    *engine = ticket_redeem(ticket, &id);
    return *engine ? engine_find_job(*engine, id) : NULL;
}

struct live_job *job_answered(void *ticket, enum job_event event, struct engine **engine)
{
    struct live_job *job = job_of_ticket(ticket, engine);

    if (job != NULL)
        job_post(*engine, job, event);
    return job;
}

static void intent_committed(void *arg, const struct error *failed)
{
    struct engine *engine;
    struct live_job *job = job_of_ticket(arg, &engine);

    if (job == NULL || failed != NULL)
        return;
    job_post(engine, job, EVENT_COMMITTED);
    job_touch(engine, job);
    engine_settle(engine);
}

void job_start_committed(struct engine *engine, struct live_job *job)
{
    job_post(engine, job, EVENT_COMMITTING);
    turn_after_commit(engine->turn, intent_committed, ticket_new(engine, job->row.id));
}
