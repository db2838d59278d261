/* A training is put into memory, and a generation of its ranks begins. */
#ifndef DAEMON_ENGINE_TRAININGS_TRAINING_LIFE_H
#define DAEMON_ENGINE_TRAININGS_TRAINING_LIFE_H

struct engine;
struct live_ensemble;

struct training *training_new(struct live_ensemble *ens);
void training_start(struct engine *engine, struct live_ensemble *ens);

#endif
