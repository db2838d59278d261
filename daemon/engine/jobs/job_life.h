/* The steps of a job's life. */
#ifndef DAEMON_ENGINE_JOBS_JOB_LIFE_H
#define DAEMON_ENGINE_JOBS_JOB_LIFE_H

struct engine;
struct live_job;

/* Does what a job that was touched needs next. While an operation is pending, that is at most an order to cancel the
 * job. A job that has ended is freed after its facts were handed over. */
void job_step(struct engine *engine, struct live_job *job);
void job_destroy(struct engine *engine, struct live_job *job);

#endif
