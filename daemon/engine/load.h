/* Building the engine's memory from the store, and freeing it. */
#ifndef DAEMON_ENGINE_LOAD_H
#define DAEMON_ENGINE_LOAD_H

struct engine;
struct ensemble_row;
struct live_ensemble;
struct spec;

void engine_drop_ensemble(struct engine *engine, struct live_ensemble *ens);
void engine_forget(struct engine *engine); /* frees all of its memory */
struct live_ensemble *engine_adopt_ensemble(struct engine *engine, const struct ensemble_row *row, struct spec *spec);

#endif
