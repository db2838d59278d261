/* The daemon's messages to the ranks of a training, through files: that no more samples come, and that they are to
 * end. */
#ifndef DAEMON_ENGINE_TRAININGS_TRAINING_TELL_H
#define DAEMON_ENGINE_TRAININGS_TRAINING_TELL_H

struct engine;
struct live_ensemble;

void training_members_over(struct engine *engine, struct live_ensemble *ens);
/* Tells the ranks to save a last checkpoint and end, if another number of them is wanted. */
void training_ask_to_end(struct engine *engine, struct live_ensemble *ens);

#endif
