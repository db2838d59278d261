/* The history of a training, made of its ranks' reports on themselves. */
#ifndef DAEMON_ENGINE_TRAININGS_MOMENTS_H
#define DAEMON_ENGINE_TRAININGS_MOMENTS_H
#include <jansson.h>

struct engine;
struct training_row;

/* `json` has RANK_FILES files of each rank, NULL if one is not there. The moment is stored if the one before is old
 * enough: 1 s in a young training, a 250th of its age in an older one. So a training of a month has 2500 of them. The
 * last one is always stored. */
void moments_take(struct engine *engine, const struct training_row *training, json_t *const *json);
#endif
