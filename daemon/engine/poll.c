/* Asking adapters what became of jobs: one question for all of them, and no conclusion from no answer. */
#include "daemon/engine/internal.h"

#include "common/log.h"
#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct question {
    struct engine *engine;
    uint64_t epoch;
    char adapter[64];
    bool find;
    size_t n;
    int64_t ids[];
};

/* The scheduler has a job of which the daemon only knew that it meant to submit it: the answer was lost. */
static void note_submission(struct engine *engine, struct live_job *job, const struct adapter_status *status)
{
    struct error err;

    job->row.state = JOB_SUBMITTED;
    job->row.submitted_ms = engine_now(engine);
    job->row.submissions++;
    snprintf(job->row.scheduler_id, sizeof job->row.scheduler_id, "%s", status->scheduler_id);
    store_job_update(engine->store, &job->row, &err);
}

static void apply_status(struct engine *engine, struct live_job *job, const struct adapter_status *status, bool found)
{
    job->asked = true;
    if (status->state != ADAPTER_JOB_UNKNOWN && job->row.state == JOB_INTENT)
        note_submission(engine, job, status);
    switch (status->state) {
    case ADAPTER_JOB_QUEUED:
        break;
    case ADAPTER_JOB_RUNNING:
        job_mark_running(engine, job, status->started_ms, status->host);
        break;
    case ADAPTER_JOB_ENDED:
        job->gone = true;
        snprintf(job->gone_reason, sizeof job->gone_reason, "%s", status->reason);
        break;
    case ADAPTER_JOB_UNKNOWN:
        if (job->row.state == JOB_INTENT)
            break; /* never submitted: job_advance() does it */
        job->gone = job->unknown = true;
        break;
    }
    if (found || job->gone)
        job_advance(engine, job);
}

static void answered(void *arg, enum adapter_answer answer, const struct adapter_status *statuses, size_t n,
                     const struct error *why)
{
    struct question *q = arg;
    struct engine *engine = q->engine;
    struct known_adapter *adapter = NULL;

    if (q->epoch == engine->epoch)
        HASH_FIND_STR(engine->adapters, q->adapter, adapter);
    if (adapter == NULL) {
        free(q);
        return;
    }
    adapter->polling = false;
    if (answer == ADAPTER_OK) {
        if (adapter->failures > 0)
            log_info_of(LOG_ADAPTER(q->adapter), "adapter %s answers again", q->adapter);
        adapter->failures = 0;
        adapter->answered_at = engine_now(engine);
        adapter->failing_since = 0;
        if (adapter->poll_at > engine_now(engine)) /* unless it poked meanwhile */
            adapter->poll_at = engine_now(engine) + POLL_MS;
        for (size_t i = 0; i < n; i++) {
            struct live_job *job = engine_find_job(engine, q->ids[i]);

            if (job != NULL)
                apply_status(engine, job, &statuses[i], q->find);
        }
    } else {
        int64_t wait = (int64_t)POLL_MS << (adapter->failures < 4 ? adapter->failures : 4);

        snprintf(adapter->failing_for, sizeof adapter->failing_for, "%.255s", why->text);
        if (adapter->failures == 0)
            adapter->failing_since = engine_now(engine);
        if (adapter->failures++ == 0)
            log_warn_of(LOG_ADAPTER(q->adapter),
                        "adapter %s does not answer (%s); its jobs are taken to be as they were", q->adapter,
                        why->text);
        adapter->poll_at = engine_now(engine) + (wait < POLL_BACKOFF_MAX ? wait : POLL_BACKOFF_MAX);
    }
    engine_wake_by(engine, adapter->poll_at);
    free(q);
    engine_settle(engine);
}

/* Ask about those jobs of the adapter for which `wanted` holds. */
static void ask(struct engine *engine, struct known_adapter *adapter, bool find)
{
    size_t n = 0, max = HASH_COUNT(engine->jobs);
    struct adapter_job *jobs = xcalloc(max, sizeof *jobs);
    struct question *q = xcalloc(1, sizeof *q + max * sizeof q->ids[0]);
    struct live_job *job, *next;

    HASH_ITER (hh, engine->jobs, job, next) {
        bool wanted = find ? !job->asked : job->asked && job->row.state != JOB_INTENT && !job->gone;

        if (job->adapter != adapter || !wanted)
            continue;
        plan_adapter_job(job, plan_job_dir(engine, job), &jobs[n]);
        q->ids[n++] = job->row.id;
    }
    if (n > 0) {
        q->engine = engine;
        q->epoch = engine->epoch;
        q->find = find;
        q->n = n;
        snprintf(q->adapter, sizeof q->adapter, "%s", adapter->ops->name);
        adapter->polling = true;
        adapter->poll_at = INT64_MAX; /* a poke meanwhile sets it */
        (find ? adapter->ops->find : adapter->ops->poll)(adapter->adapter, jobs, n, answered, q);
    } else {
        adapter->poll_at = INT64_MAX;
        free(q);
    }
    for (size_t i = 0; i < n; i++)
        free((char *)jobs[i].dir);
    free(jobs);
}

void poll_find(struct engine *engine, struct known_adapter *adapter)
{
    if (!adapter->polling)
        ask(engine, adapter, true);
}

void poll_adapter(struct engine *engine, struct known_adapter *adapter)
{
    struct live_job *job, *next;

    if (adapter->polling)
        return;
    HASH_ITER (hh, engine->jobs, job, next) {
        if (job->adapter == adapter && !job->asked) { /* what it may not know by id yet comes first */
            poll_find(engine, adapter);
            return;
        }
    }
    ask(engine, adapter, false);
}
