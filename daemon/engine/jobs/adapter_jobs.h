/* The jobs of an adapter: submitting and cancelling them. */
#ifndef DAEMON_ENGINE_JOBS_ADAPTER_JOBS_H
#define DAEMON_ENGINE_JOBS_ADAPTER_JOBS_H

struct known_adapter;

/* Makes the adapter the scheduler of its jobs (job_scheduler.h). */
void adapter_jobs_init(struct known_adapter *adapter);

#endif
