/* Gives up jobs of which no more news comes, after making sure that they cannot start. */
#ifndef DAEMON_ENGINE_JOBS_ABANDON_H
#define DAEMON_ENGINE_JOBS_ABANDON_H
#include "daemon/store/attempt.h"

#include <jansson.h>
#include <stdbool.h>

struct engine;
struct live_job;

/* Takes the reason from a fence, which the daemon has put in the place of an exit record. Returns true. */
bool job_read_fence(struct live_job *job, const json_t *fence);
/* Gives up a job whose open attempts are all fenced, and therefore lost. */
void job_abandon_fenced(struct engine *engine, struct live_job *job);
/* Decides what to do if an exit record is missing. `ended` says that the runner itself has written that it is
 * through. */
void job_missing(struct engine *engine, struct live_job *job, bool ended);
/* Ends the job and its open attempts, once nothing can start it any more. */
void job_abandon(struct engine *engine, struct live_job *job, enum attempt_outcome outcome, const char *reason);
/* Reads a claim that the daemon itself made before a restart, or in a turn that was rolled back: the decision to give
 * the job up is in it. job_abandon_sealed() carries that out. */
void job_read_seal(struct engine *engine, struct live_job *job, const json_t *claim);
void job_abandon_sealed(struct engine *engine, struct live_job *job);
/* Gives up a job that its scheduler will never run, for the reason that it gives. If no job of the ensemble has begun,
 * that ends the ensemble, too, since all its jobs ask for the same. */
void job_refuse(struct engine *engine, struct live_job *job, const char *why);

#endif
