/* Cancelling jobs. */
#ifndef DAEMON_ENGINE_JOBS_CANCEL_H
#define DAEMON_ENGINE_JOBS_CANCEL_H
#include <stdbool.h>

struct engine;
struct known_adapter;
struct live_ensemble;
struct live_job;

/* Cancels the job, once more if it was cancelled before. Its scheduler is told after the turn's commit, so that
 * the job is still there when this returns. */
void job_cancel(struct engine *engine, struct live_job *job);
void job_send_cancel(struct engine *engine, struct live_job *job);
/* Returns whether an order to cancel the job is due, be it the first or a repeated one. */
bool job_cancel_is_due(const struct engine *engine, const struct live_job *job);
/* Called after each slice when jobs of an ensemble are cancelled in slices. The orders of all slices are held back, and
 * given in one turn of the loop when there is no more. So the scheduler gets those about waiting jobs first: the end of
 * a running one would start a waiting one whose order comes later. The ensemble must be dispatched afterwards. */
void cancel_gather(struct engine *engine, struct live_ensemble *ens, bool more);
/* Gives the orders that are held back, if nothing is awaited any more; otherwise sets the ensemble's alarm. */
void cancel_release(struct engine *engine, struct live_ensemble *ens);
/* Logs how many jobs of one answer of the scheduler are cancelled again. */
void cancel_tell_repeated(struct known_adapter *adapter, int n);

#endif
