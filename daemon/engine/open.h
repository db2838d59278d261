/* Open ensembles take members while they run: a generator suggests them, and learns how they ended. */
#ifndef DAEMON_ENGINE_OPEN_H
#define DAEMON_ENGINE_OPEN_H
#include <stdint.h>

struct engine;
struct spec;

/* Lets the spec of an ensemble, or of a follow-up of it, read the parameters of members that were suggested. Does
 * nothing for other specs. */
void open_give_parameters(struct engine *engine, struct spec *spec, int64_t ensemble);
#endif
