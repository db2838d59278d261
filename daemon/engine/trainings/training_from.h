/* Trainings that start from a checkpoint of another ensemble's training. */
#ifndef DAEMON_ENGINE_TRAININGS_TRAINING_FROM_H
#define DAEMON_ENGINE_TRAININGS_TRAINING_FROM_H
#include <jansson.h>

struct engine;
struct error;
struct spec;

/* Finds the checkpoint of another ensemble's training from which the spec's training starts, if it does, and has the
 * spec name it. -1 with a pointer into the spec if there is none. */
int engine_find_from(struct engine *engine, struct spec *spec, struct error *err);
/* Returns the text to be stored of a spec that was submitted as `json`: that checkpoint is named in it. To be freed. */
char *engine_spec_text(const struct spec *spec, const json_t *json);

#endif
