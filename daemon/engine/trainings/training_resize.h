/* Changing the number of a training's ranks, as engine_resize_training() does, without settling. `by` is a phrase that
 * says who asks. */
#ifndef DAEMON_ENGINE_TRAININGS_TRAINING_RESIZE_H
#define DAEMON_ENGINE_TRAININGS_TRAINING_RESIZE_H
#include <stdint.h>

struct engine;
struct error;
struct live_ensemble;

int training_resize(struct engine *engine, struct live_ensemble *ens, int64_t ranks, const char *by, struct error *err);

#endif
