/* Notes two steps of a job's life, from any source: its scheduler has the job, and the job runs. */
#ifndef DAEMON_ENGINE_JOBS_JOB_NEWS_H
#define DAEMON_ENGINE_JOBS_JOB_NEWS_H
#include "daemon/engine/memory/job_event.h"

#include <stdint.h>

struct engine;
struct live_job;

/* Notes that the scheduler has the job: EVENT_ACCEPTED or EVENT_TAKEN. */
void job_note_submitted(struct engine *engine, struct live_job *job, enum job_event event, const char *scheduler_id);
void job_mark_running(struct engine *engine, struct live_job *job, int64_t started_ms, const char *host);

#endif
