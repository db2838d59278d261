/* Reading what the ranks of a training wrote. */
#ifndef DAEMON_ENGINE_RANKS_H
#define DAEMON_ENGINE_RANKS_H

struct engine;
struct live_ensemble;

void training_look(struct engine *engine, struct live_ensemble *ens);
/* Notes that everything is read that the ranks wrote, and that the missing steps are counted if the spec says how many
 * there are. */
void training_all_read(struct engine *engine, struct live_ensemble *ens);
/* Ends the training or begins its next generation, once its job has ended and training_all_read() was called. */
void training_conclude(struct engine *engine, struct live_ensemble *ens);
void training_read_metrics(struct engine *engine, struct live_ensemble *ens); /* the last step of that */
/* Ends the reading after a failure, and begins it anew later. */
void training_read_later(struct engine *engine, struct live_ensemble *ens);

#endif
