/* Jobs as their adapter has them: they are submitted and cancelled, and its answers say what became of that. */
#include "daemon/engine/jobs/adapter_jobs.h"

#include "common/backoff.h"
#include "common/error.h"
#include "common/log.h"
#include "common/timefmt.h"
#include "daemon/engine/jobs/abandon.h"
#include "daemon/engine/jobs/job_news.h"
#include "daemon/engine/jobs/plan.h"
#include "daemon/engine/jobs/precedent.h"
#include "daemon/engine/jobs/waiting.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/job_event.h"
#include "daemon/engine/memory/polls.h"
#include "scheduler-adapters/adapter.h"

#include <stdio.h>

#define DOUBTS_TOLD 5            /* unanswered submissions in a row that the log reports one by one */
#define DOUBTS_EVERY_MS 60000    /* between lines of the log about the number of all further ones */
#define PUT_OFF_EVERY_MS 600000  /* between lines of the log about jobs that a scheduler does not accept for now */
#define UNCLEAR_AGAIN_MAX 600000 /* between submissions of a job that is refused for good or for now */
#define CANCEL_AGAIN_MS 60000    /* after an order and the grace, if the scheduler still has the job; then doubled */
#define CANCEL_REFUSED_MS 15000  /* after an order that failed, which may be what broke the scheduler; then doubled */
#define CANCEL_AGAIN_MAX 3600000
#define CANCELS_TOLD_MS 600000 /* between lines of the log about orders that failed */

/* Has the job looked at again after a pause, which grows with the submissions in a row that came to nothing. */
static void retry_later(struct engine *engine, struct live_job *job)
{
    job_retry_in(engine, job, POLL_MS << (job->told.doubts < 4 ? job->told.doubts++ : 4));
}

/* The scheduler did not accept the job for now and said why. The job is looked up only if an earlier submission may
 * have been accepted. */
static void put_off(struct engine *engine, struct live_job *job, const char *why)
{
    struct known_adapter *adapter = job->adapter;
    int64_t now = engine_now(engine);

    adapter_check(engine, adapter);
    adapter->told.put_off++;
    if (adapter->told.put_off_told_ms == 0 || now - adapter->told.put_off_told_ms >= PUT_OFF_EVERY_MS) {
        log_warn_of(LOG_ADAPTER(adapter->ops->name),
                    "adapter %s: %lld submissions were not accepted for now, and are tried again: %s",
                    adapter->ops->name, (long long)adapter->told.put_off, why);
        adapter->told.put_off = 0;
        adapter->told.put_off_told_ms = now;
    }
    job->row.submissions--;
    job_post(engine, job, job->state.sent == SENT_BEFORE ? EVENT_UNANSWERED : EVENT_NOT_TAKEN);
    job_note_waits_for(job, why);
    retry_later(engine, job);
}

/* Logs the first few doubts one by one and counts the others: if Slurm is down, there may be thousands. */
static void tell_doubt(struct engine *engine, const struct live_job *job, const char *why)
{
    struct known_adapter *adapter = job->adapter;
    int64_t now = engine_now(engine);

    if (++adapter->told.doubts <= DOUBTS_TOLD) {
        log_warn_of(LOG_JOB(job->row.ensemble, job->row.name), "job %s: it is not known whether it was submitted: %s",
                    job->row.name, why);
        adapter->told.doubts_told_ms = now;
    } else if (now - adapter->told.doubts_told_ms >= DOUBTS_EVERY_MS) {
        log_warn_of(LOG_ADAPTER(adapter->ops->name),
                    "adapter %s: it was not known %lld times in a row whether a job was submitted: %s",
                    adapter->ops->name, (long long)adapter->told.doubts, why);
        adapter->told.doubts_told_ms = now;
    }
}

static void adapter_refused(struct engine *engine, struct live_job *job, const char *why)
{
    log_warn_of(LOG_JOB(job->row.ensemble, job->row.name), "job %s is refused: %s", job->row.name, why);
    job_post(engine, job, EVENT_REFUSED);
    job_refuse(engine, job, why);
}

/* The scheduler refused the job in words that its adapter does not know. Others like it were accepted, so the job is
 * submitted again, for a while. */
static void refuse_unclear(struct engine *engine, struct live_job *job, const char *why)
{
    char words[sizeof((struct error *)0)->text], when[TIMEFMT_SIZE];
    int64_t until_ms;

    if (!precedent_waits(engine, job, false, &until_ms)) {
        adapter_refused(engine, job, why);
        return;
    }
    snprintf(words, sizeof words, "%.400s (others like it were accepted, so it is submitted again until %s)", why,
             timefmt_iso(when, until_ms));
    put_off(engine, job, words);
    job_retry_in(engine, job, backoff_ms(POLL_MS, ++job->told.unclear, UNCLEAR_AGAIN_MAX));
}

static void adapter_submitted(void *arg, enum adapter_answer answer, const char *scheduler_id, const struct error *why)
{
    struct engine *engine;
    struct live_job *job = job_of_ticket(arg, &engine);
    char words[400];
    struct error err;

    if (job == NULL)
        return;
    /* While polls fail, their next answer decides whether the adapter works again. */
    if ((answer == ADAPTER_OK || answer == ADAPTER_REFUSED || answer == ADAPTER_UNCLEAR) &&
        job->adapter->polls.failures == 0)
        adapter_note_answer(engine, job->adapter);
    switch (answer) {
    case ADAPTER_OK:
        job->adapter->told.doubts = job->told.doubts = 0;
        job_note_submitted(engine, job, EVENT_ACCEPTED, scheduler_id);
        job_touch(engine, job);
        break;
    case ADAPTER_REFUSED: adapter_refused(engine, job, why->text); break;
    case ADAPTER_UNCLEAR: refuse_unclear(engine, job, why->text); break;
    case ADAPTER_LATER: put_off(engine, job, why->text); break;
    case ADAPTER_UNSURE: /* it may have been accepted, and is looked up by name before it is sent again */
        tell_doubt(engine, job, why->text);
        snprintf(words, sizeof words, "it is not known whether it was submitted: %.300s", why->text);
        job_note_waits_for(job, words);
        job_post(engine, job, EVENT_UNANSWERED);
        store_job_update(engine->store, &job->row, &err);
        retry_later(engine, job);
        break;
    }
    engine_settle(engine);
}

static void adapter_submit(struct engine *engine, struct live_job *job, const struct adapter_job *ajob)
{
    job->adapter->ops->submit(job->adapter->adapter, ajob, adapter_submitted, ticket_new(engine, job->row.id));
}

/* Logs that orders fail: a line at first, then one in a while, since there may be thousands of jobs. */
static void tell_refused(struct engine *engine, struct known_adapter *adapter, const char *why)
{
    int64_t now = engine_now(engine);

    if (adapter->told.cancels_refused++ == 0)
        log_warn_of(LOG_ADAPTER(adapter->ops->name),
                    "adapter %s does not take orders to cancel jobs (%s); they are given again after growing pauses",
                    adapter->ops->name, why);
    else if (now - adapter->told.cancels_told_ms >= CANCELS_TOLD_MS)
        log_warn_of(LOG_ADAPTER(adapter->ops->name), "adapter %s has not taken %lld orders to cancel jobs: %s",
                    adapter->ops->name, (long long)adapter->told.cancels_refused, why);
    else
        return;
    adapter->told.cancels_told_ms = now;
}

static void tell_taken(struct known_adapter *adapter)
{
    if (adapter->told.cancels_refused > 0)
        log_info_of(LOG_ADAPTER(adapter->ops->name),
                    "adapter %s takes orders to cancel jobs again, after %lld that it did not take", adapter->ops->name,
                    (long long)adapter->told.cancels_refused);
    adapter->told.cancels_refused = 0;
}

static void adapter_cancelled(void *arg, enum adapter_answer answer, const struct error *why)
{
    struct engine *engine;
    struct live_job *job = job_of_ticket(arg, &engine);
    struct adapter_job ajob;

    if (job == NULL)
        return;
    if (answer == ADAPTER_OK) {
        plan_adapter_job(job, NULL, &ajob);
        tell_taken(job->adapter);
        job->ending.cancel_again_ms =
            engine_now(engine) + ajob.grace_ms + backoff_ms(CANCEL_AGAIN_MS, job->ending.cancels, CANCEL_AGAIN_MAX);
    } else {
        tell_refused(engine, job->adapter, why->text);
        job->ending.cancel_again_ms =
            engine_now(engine) + backoff_ms(CANCEL_REFUSED_MS, job->ending.cancels, CANCEL_AGAIN_MAX);
    }
}

static void adapter_cancel(struct engine *engine, struct live_job *job, const struct adapter_job *ajob)
{
    job->adapter->ops->cancel(job->adapter->adapter, ajob, adapter_cancelled, ticket_new(engine, job->row.id));
}

static char *adapter_take_records(struct live_job *job)
{
    const struct known_adapter *adapter = job->adapter;

    return adapter->ops->take_records != NULL ? adapter->ops->take_records(adapter->adapter, job->row.name) : NULL;
}

static bool adapter_takes(const struct live_job *job)
{
    (void)job;
    return true; /* a job that it does not want is refused when it is submitted */
}

void adapter_jobs_init(struct known_adapter *adapter)
{
    adapter->scheduler = (struct job_scheduler){
        .polled = true,
        .sure = adapter->ops->exact,
        .hands_over = adapter->ops->hands_over,
        .has_duplicates = adapter->ops->withdraw != NULL,
        .takes = adapter_takes,
        .submit = adapter_submit,
        .cancel = adapter_cancel,
        .take_records = adapter_take_records,
    };
}
