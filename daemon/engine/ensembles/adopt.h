/* Putting an ensemble into memory, and dropping it. */
#ifndef DAEMON_ENGINE_ENSEMBLES_ADOPT_H
#define DAEMON_ENGINE_ENSEMBLES_ADOPT_H

struct engine;
struct ensemble_row;
struct live_ensemble;
struct spec;

/* Puts a stored ensemble into memory, with its training. The spec is taken over. Returns NULL on failure, which is
 * logged. */
struct live_ensemble *ensemble_adopt(struct engine *engine, const struct ensemble_row *row, struct spec *spec);
void ensemble_drop(struct engine *engine, struct live_ensemble *ens);

#endif
