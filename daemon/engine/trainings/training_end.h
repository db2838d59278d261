/* The end of a training, or of a generation of its ranks. */
#ifndef DAEMON_ENGINE_TRAININGS_TRAINING_END_H
#define DAEMON_ENGINE_TRAININGS_TRAINING_END_H

struct attempt_end;
struct engine;
struct live_ensemble;
struct live_job;
struct slot;

void training_rank_ended(struct engine *engine, struct live_job *job, struct slot *slot, const struct attempt_end *out);
/* Ends the training or begins its next generation, once all is read that its ranks wrote, and its job has ended. */
void training_conclude(struct engine *engine, struct live_ensemble *ens);
void training_job_ended(struct engine *engine, struct live_ensemble *ens); /* the same for its job, just now */

#endif
