/* Asks adapters what became of jobs: one question is about all jobs of an adapter, and nothing is concluded if there is
 * no answer. */
#include "daemon/engine/jobs/poll.h"

#include "common/backoff.h"
#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/engine/jobs/abandon.h"
#include "daemon/engine/jobs/cancel.h"
#include "daemon/engine/jobs/duplicates.h"
#include "daemon/engine/jobs/hosts.h"
#include "daemon/engine/jobs/job_news.h"
#include "daemon/engine/jobs/plan.h"
#include "daemon/engine/jobs/precedent.h"
#include "daemon/engine/jobs/waiting.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/job_event.h"
#include "daemon/engine/memory/paths.h"
#include "daemon/engine/memory/polls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_BACKOFF_MAX 60000 /* between polls of an adapter that does not answer */
#define LINGER_POLL_MAX 300000 /* the longest pause between such polls */
#define SILENCE_MAX 86400000   /* how long such polls go on at most while the scheduler does not answer */

/* The number of looks for the claim of a job that is queued again after it was gone. It may have run in between, and
 * its claim be visible late. The limit is for a scheduler that forgot thousands of jobs for a moment. Without it, their
 * files would be looked for at every answer for days. */
#define LOOKS_WHEN_BACK 24
#define RUNS_WHEN_BACK 3 /* answers that it runs, after which a job that came back is believed to */

struct poll_question {
    struct engine *engine;
    uint64_t epoch;
    char adapter[64];
    bool find;
    size_t n;
    int64_t ids[];
};

/* Returns whether a job may be given up because its scheduler says that it can never run. That is so if no claim is
 * known, and no operation on it is under way. An earlier answer that it runs proves nothing, since the scheduler may
 * have confused it with another job. If a runner has begun, sealing the job finds its claim. */
static bool may_be_refused(const struct live_job *job)
{
    return job->state.pending == PENDING_NONE && !job->ending.over && job->state.proof == PROOF_NONE && job->open > 0 &&
           (!job->found.started || !job->adapter->ops->exact) && !job_is_unwanted(job);
}

/* Notes what a job waits for. A job that is put back again and again, since its runner cannot be started, may be said
 * to run in between. A job that is yet to be submitted keeps the reason why its last submission failed. */
static void note_words(struct live_job *job, const struct adapter_status *status)
{
    if (status->state == ADAPTER_JOB_QUEUED && job->found.started)
        job->told.back = RUNS_WHEN_BACK;
    else if (status->state == ADAPTER_JOB_RUNNING && job->told.back > 0 && --job->told.back > 0)
        return;
    else if (status->state == ADAPTER_JOB_ENDED)
        job->told.back = 0;
    if (status->state != ADAPTER_JOB_UNKNOWN || job->row.state != JOB_INTENT)
        job_note_waits_for(job, status->state == ADAPTER_JOB_QUEUED ? status->reason : "");
}

static void apply_status(struct engine *engine, struct live_job *job, const struct adapter_status *status, bool found)
{
    enum job_belief before = job->state.belief;
    /* where its runner is started each second in vain, this is logged once */
    bool told = status->reason[0] != '\0' && strcmp(job_words(job), status->reason) == 0;
    int64_t until_ms;

    if (status->state == ADAPTER_JOB_UNASKED)
        return;
    job->told.answer = job->adapter->polls.answers;
    if (status->state != ADAPTER_JOB_UNKNOWN && job->row.state == JOB_INTENT)
        job_note_submitted(engine, job, EVENT_TAKEN, status->scheduler_id); /* the answer was lost */
    else if (status->state != ADAPTER_JOB_UNKNOWN && status->scheduler_id[0] != '\0')
        /* A job that was submitted twice may now have another id, which is stored with the next change of the row. */
        memcpy(job->row.scheduler_id, status->scheduler_id, sizeof job->row.scheduler_id);
    note_words(job, status);
    switch (status->state) {
    case ADAPTER_JOB_QUEUED:
        if (job_is_gone(job))
            job->told.looks_left = LOOKS_WHEN_BACK;
        job_post(engine, job, EVENT_TOLD_QUEUED);
        if (job->found.started && before != BELIEF_QUEUED && !told)
            log_info_of(LOG_JOB(job->row.ensemble, job->row.name),
                        "job %s: the scheduler has put it back into the queue%s%s", job->row.name,
                        status->reason[0] ? ": " : "", status->reason);
        if (status->never && may_be_refused(job) &&
            !(status->limited && precedent_waits(engine, job, true, &until_ms))) {
            job->ending.refusal = REFUSAL_QUEUED;
            job_refuse(engine, job, status->reason);
            return;
        }
        duplicate_note_queued(engine, job, status->scheduler_id);
        break;
    case ADAPTER_JOB_RUNNING:
        job_post(engine, job, EVENT_TOLD_RUNNING);
        job_mark_running(engine, job, status->started_ms, status->host);
        job->found.look = job->found.look || job_lacks_hosts(job);
        break;
    case ADAPTER_JOB_ENDED:
        if (status->started_ms != 0 && job->adapter->ops->exact) /* it ran since the last poll: no claim need be read */
            job_mark_running(engine, job, status->started_ms, status->host);
        job_post(engine, job, EVENT_TOLD_ENDED);
        text_copy(job->told.gone_reason, sizeof job->told.gone_reason, status->reason);
        break;
    case ADAPTER_JOB_UNASKED: return;
    case ADAPTER_JOB_UNKNOWN:
        job_post(engine, job, job->row.state == JOB_INTENT ? EVENT_TOLD_ABSENT : EVENT_TOLD_FORGOTTEN);
        break;
    }
    if (found || job_is_gone(job) || job->found.look || job_cancel_is_due(engine, job))
        job_touch(engine, job);
}

/* Returns whether this answer makes the engine cancel the job again. The log reports how many such jobs an answer
 * has. */
static bool is_cancelled_again(const struct engine *engine, const struct live_job *job,
                               const struct adapter_status *status)
{
    return job->ending.cancels > 0 && job_cancel_is_due(engine, job) &&
           (status->state == ADAPTER_JOB_QUEUED || status->state == ADAPTER_JOB_RUNNING);
}

/* Logs what became of jobs after the log said that it was not known whether they were submitted. */
static void tell_doubts_are_over(struct engine *engine, const struct poll_question *q,
                                 const struct adapter_status *statuses)
{
    int doubts = 0, there = 0;

    for (size_t i = 0; i < q->n; i++) {
        const struct live_job *job = engine_find_job(engine, q->ids[i]);

        if (job == NULL || job->state.sent != SENT_BEFORE || job->row.state != JOB_INTENT)
            continue;
        doubts++;
        there += statuses[i].state != ADAPTER_JOB_UNKNOWN;
    }
    if (doubts > 0)
        log_info_of(LOG_ADAPTER(q->adapter), "adapter %s: of the jobs in doubt it has %d; %d are submitted now",
                    q->adapter, there, doubts - there);
}

static bool has_questions(const struct known_adapter *adapter)
{
    return adapter->unasked != NULL || adapter->polled != NULL;
}

static bool poll_lingers(struct engine *engine, const struct known_adapter *adapter)
{
    return adapter->ops->withdraw != NULL && engine_now(engine) < adapter->polls.lingers_until;
}

/* Decides how long an adapter is polled on without jobs. The time begins again while there are jobs to take out of its
 * queue, and while an adapter that answered before does not. Polls become rarer, except after a change: there are jobs
 * again, the number of those to take out is another one, or an answer came after silence. */
static void linger_on(struct engine *engine, struct known_adapter *adapter, int needless_before, bool was_silent)
{
    int64_t now = engine_now(engine);

    if (has_questions(adapter) || adapter->needless != needless_before || (was_silent && adapter->polls.failures == 0))
        poll_linger(engine, adapter);
    else if (adapter->needless > 0 || (adapter->polls.failures > 0 && adapter->polls.answered_at != 0 &&
                                       now - adapter->polls.failing_since < SILENCE_MAX))
        adapter->polls.lingers_until = now + POLLS_LINGER_MS;
    adapter->polls.idle++;
}

static int64_t pause_before_next(const struct known_adapter *adapter)
{
    int64_t ms = adapter->poll_ms;

    if (adapter->polls.failures > 0)
        return backoff_ms(ms, adapter->polls.failures < 5 ? adapter->polls.failures : 5,
                          ms > POLL_BACKOFF_MAX ? ms : POLL_BACKOFF_MAX);
    return has_questions(adapter) ? ms
                                  : backoff_ms(ms, adapter->polls.idle, ms > LINGER_POLL_MAX ? ms : LINGER_POLL_MAX);
}

/* Schedules the next poll: at once after news, or after a look-up, which has put off a poll; else after a pause, which
 * is longer if polls fail. */
static void ask_again(struct engine *engine, struct known_adapter *adapter, bool found)
{
    if (!has_questions(adapter) && !poll_lingers(engine, adapter))
        return;
    if (adapter->polls.failures == 0 && (adapter->polls.poked || found))
        poll_soon(engine, adapter);
    else
        poll_by(engine, adapter, engine_now(engine) + pause_before_next(adapter));
}

static void poll_answered(void *arg, enum adapter_answer answer, const struct adapter_status *statuses, size_t n,
                          const struct error *why)
{
    struct poll_question *q = arg;
    struct engine *engine = q->engine;
    struct known_adapter *adapter = NULL;
    int needless, again = 0;
    bool was_silent, is_whole = true;

    if (q->epoch == engine->epoch)
        HASH_FIND_STR(engine->adapters, q->adapter, adapter);
    if (adapter == NULL) {
        free(q);
        return;
    }
    adapter->polls.polling = false;
    needless = adapter->needless;
    was_silent = adapter->polls.failures > 0;
    if (answer == ADAPTER_OK) {
        if (adapter->polls.failures > 0)
            log_info_of(LOG_ADAPTER(q->adapter), "adapter %s answers again", q->adapter);
        adapter->polls.failures = 0;
        adapter_note_answer(engine, adapter);
        adapter->polls.answers++;
        if (q->find)
            tell_doubts_are_over(engine, q, statuses);
        for (size_t i = 0; i < n; i++) {
            struct live_job *job = engine_find_job(engine, q->ids[i]);

            is_whole = is_whole && statuses[i].state != ADAPTER_JOB_UNASKED;
            /* This answer knows nothing of the last submission of a job that came into doubt after the question: such a
             * job is looked up first. */
            if (job == NULL || !(q->find || job_is_asked(job)))
                continue;
            again += is_cancelled_again(engine, job, &statuses[i]);
            apply_status(engine, job, &statuses[i], q->find);
        }
        cancel_tell_repeated(adapter, again);
    } else {
        adapter_note_failure(engine, adapter, why->text);
        if (adapter->polls.failures == 0)
            log_warn_of(LOG_ADAPTER(q->adapter),
                        "adapter %s does not answer (%s); its jobs are taken to be as they were", q->adapter,
                        why->text);
        adapter->polls.failures++;
    }
    duplicate_settle(engine, adapter, answer == ADAPTER_OK);
    linger_on(engine, adapter, needless, was_silent);
    ask_again(engine, adapter, is_whole && q->find);
    free(q);
    engine_settle(engine);
}

/* Asks about the jobs on one of the adapter's lists: those to look up by name (find), or those to poll. */
static void poll_ask(struct engine *engine, struct known_adapter *adapter, bool find)
{
    size_t n = 0, max = find ? adapter->n_unasked : adapter->n_polled;
    struct adapter_job *jobs = xcalloc(max, sizeof *jobs);
    struct poll_question *q = xcalloc(1, sizeof *q + max * sizeof q->ids[0]);

    for (struct live_job *job = find ? adapter->unasked : adapter->polled; job != NULL; job = job->next) {
        plan_adapter_job(job, engine_job_dir(engine, job), &jobs[n]);
        q->ids[n++] = job->row.id;
    }
    q->engine = engine;
    q->epoch = engine->epoch;
    q->find = find;
    q->n = n;
    text_copy(q->adapter, sizeof q->adapter, adapter->ops->name);
    adapter->polls.polling = true;
    adapter->polls.poked = false;
    adapter->polls.asked_ms = engine_now(engine);
    alarm_set(engine, &adapter->polls.poll, INT64_MAX);
    (find ? adapter->ops->find : adapter->ops->poll)(adapter->adapter, jobs, n, poll_answered, q);
    for (size_t i = 0; i < n; i++)
        free((char *)jobs[i].dir);
    free(jobs);
}

static void poll_now(struct engine *engine, struct alarm *alarm)
{
    struct known_adapter *adapter = heap_entry(alarm, struct known_adapter, polls.poll);

    if (adapter->polls.polling)
        adapter->polls.poked = true;
    else if (adapter->unasked != NULL) /* jobs that the scheduler may not know by id come first */
        poll_ask(engine, adapter, true);
    else if (adapter->polled != NULL || poll_lingers(engine, adapter))
        poll_ask(engine, adapter, false);
}

void poll_init(struct known_adapter *adapter)
{
    adapter->polls.poll.ring = poll_now;
    adapter->poll_ms = adapter->ops->interval_ms != NULL ? adapter->ops->interval_ms(adapter->adapter) : POLL_MS;
}

void poll_resume(struct engine *engine, struct known_adapter *adapter)
{
    struct error err;

    if (adapter->polls.polling)
        return;
    if (adapter->unasked != NULL) {
        poll_ask(engine, adapter, true);
    } else if (adapter->ops->withdraw != NULL && store_ensemble_any_of(engine->store, adapter->ops->name, &err) == 1) {
        poll_linger(engine, adapter);
        poll_by(engine, adapter, engine_now(engine));
    }
}
