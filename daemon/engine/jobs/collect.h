/* Reading what the runner of a job left in the run directory: its claim and its exit records. */
#ifndef DAEMON_ENGINE_JOBS_COLLECT_H
#define DAEMON_ENGINE_JOBS_COLLECT_H

struct engine;
struct live_job;

#define COLLECT_FIRST_MS 200 /* before the second look for a missing exit record */

void job_collect(struct engine *engine, struct live_job *job);

#endif
