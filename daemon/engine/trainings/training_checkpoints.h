/* The checkpoints of a training, as its ranks list them. */
#ifndef DAEMON_ENGINE_TRAININGS_TRAINING_CHECKPOINTS_H
#define DAEMON_ENGINE_TRAININGS_TRAINING_CHECKPOINTS_H
#include <jansson.h>

struct engine;
struct live_ensemble;

/* Stores the checkpoints that `file`, the ranks' list, has (NULL if it is not there), and reports FACT_LIST_TAKEN
 * then. */
void training_take_checkpoints(struct engine *engine, struct live_ensemble *ens, const json_t *file);

#endif
