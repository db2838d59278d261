/* Cancelling jobs. */
#ifndef DAEMON_ENGINE_CANCEL_H
#define DAEMON_ENGINE_CANCEL_H
#include <stdbool.h>

struct engine;
struct known_adapter;
struct live_job;

/* Cancels the job, once more if it was cancelled before. Its scheduler is told after the turn's commit, so that
 * the job is still there when this returns. */
void job_cancel(struct engine *engine, struct live_job *job);
void job_send_cancel(struct engine *engine, struct live_job *job);
/* Returns whether an order to cancel the job is due, be it the first or a repeated one. */
bool job_cancel_is_due(const struct engine *engine, const struct live_job *job);
/* Logs how many jobs of one answer of the scheduler are cancelled again. */
void cancel_tell_repeated(struct known_adapter *adapter, int n);

#endif
