#include "daemon/engine/jobs/job_news.h"

#include "common/text.h"
#include "daemon/engine/jobs/feed.h"
#include "daemon/engine/jobs/save.h"
#include "daemon/engine/jobs/waiting.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"

void job_note_submitted(struct engine *engine, struct live_job *job, enum job_event event, const char *scheduler_id)
{
    job_note_waits_for(job, "");
    job->ensemble->refused_ms = 0;
    job_post(engine, job, event);
    job->row.submitted_ms = engine_now(engine);
    if (scheduler_id != job->row.scheduler_id)
        text_copy(job->row.scheduler_id, sizeof job->row.scheduler_id, scheduler_id);
    if (job_scheduler(job)->sure) /* it can be found by name; other schedulers may lose it */
        job_save_later(engine, job);
    else
        job_save(engine, job);
}

void job_mark_running(struct engine *engine, struct live_job *job, int64_t started_ms, const char *host)
{
    if (job->found.started || job->row.state == JOB_ENDED)
        return;
    job->found.started = true;
    job_post(engine, job, EVENT_STARTED);
    job->row.started_ms = started_ms ? started_ms : engine_now(engine);
    text_copy(job->found.host, sizeof job->found.host, host);
    for (size_t i = 0; i < job->n_slots && job->row.kind == JOB_MEMBERS; i++)
        job->slots[i].untold = job->slots[i].open;
    if (job->row.kind == JOB_MEMBERS && !job->ensemble->begun) {
        job->ensemble->begun = true;
        if (job->ensemble->training != NULL)
            engine_touch(engine, job->ensemble); /* its training may have waited for a member to run */
    }
    feed_begin(engine, job);
    job_save_later(engine, job);
}
