/* A refusal that may pass: a limit of the site that others fill, a rule in words that no adapter knows, or a limit that
 * an administrator has changed. It is taken for one if the scheduler has accepted another job of the ensemble, or of
 * the one that it follows up, since all ask for the same. Then the job waits, for a day after the last job that was
 * accepted. */
#ifndef DAEMON_ENGINE_JOBS_PRECEDENT_H
#define DAEMON_ENGINE_JOBS_PRECEDENT_H
#include <stdbool.h>
#include <stdint.h>

struct engine;
struct live_job;

/* Returns whether the job is to wait, which was refused just now. `queued`: the scheduler has accepted it, and says
 * that it can never run. *until_ms: when the job is refused for good. */
bool precedent_waits(struct engine *engine, const struct live_job *job, bool queued, int64_t *until_ms);
#endif
