/* Describes which ensembles have the places of an adapter. */
#ifndef DAEMON_ENGINE_ENSEMBLES_TAKERS_H
#define DAEMON_ENGINE_ENSEMBLES_TAKERS_H
#include <stdbool.h>
#include <stddef.h>

struct engine;
struct known_adapter;
struct live_ensemble;

enum takers_of { TAKERS_OF_SLOTS, TAKERS_OF_JOBS, TAKERS_OF_TRAININGS };

/* Writes who has the slots of an adapter, all but one ensemble, like "ensemble 3 takes 6 slots, ensemble 5 takes 2".
 * Returns false if nobody has any. */
bool takers_tell(const struct engine *engine, const struct known_adapter *adapter, const struct live_ensemble *except,
                 enum takers_of what, char *out, size_t size);

#endif
