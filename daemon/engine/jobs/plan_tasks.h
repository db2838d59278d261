/* The tasks in the plan of a job. */
#ifndef DAEMON_ENGINE_JOBS_PLAN_TASKS_H
#define DAEMON_ENGINE_JOBS_PLAN_TASKS_H
#include "tasks/proto/jobdesc_text.h"

struct engine;
struct job_plan;
struct live_job;

/* Writes the job's tasks that are still to be run. Returns 0, or -1 if a member's parameters cannot be read. A task
 * that cannot be started, because it has too many or too large arguments, is left out, and is in plan->refused. */
int plan_tasks(const struct engine *engine, const struct live_job *job, struct jobdesc_text *out,
               struct job_plan *plan);

#endif
