/* Open ensembles take members while they run: a generator suggests them, and learns how they ended. */
#ifndef DAEMON_ENGINE_OPEN_H
#define DAEMON_ENGINE_OPEN_H
#include <stdbool.h>
#include <stdint.h>

struct engine;
struct ensemble_row;
struct live_ensemble;
struct spec;

/* Lets the spec of an ensemble, or of a follow-up of it, read the parameters of members that were suggested. Does
 * nothing for other specs. */
void open_give_parameters(struct engine *engine, struct spec *spec, int64_t ensemble);
/* Returns how many members the ensemble can ever have, for which its training makes room. */
int64_t open_most(const struct live_ensemble *ens);
/* Returns whether more members may come. */
bool open_waits(const struct ensemble_row *row);
#endif
