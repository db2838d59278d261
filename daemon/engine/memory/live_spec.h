/* The specs of ensembles that are in memory. */
#ifndef DAEMON_ENGINE_MEMORY_LIVE_SPEC_H
#define DAEMON_ENGINE_MEMORY_LIVE_SPEC_H
#include <jansson.h>
#include <stdint.h>

struct engine;
struct error;

/* Makes the spec of an ensemble, or of a follow-up of it, from its JSON, with all that its members'
 * parameters are read from. Returns NULL with err if it cannot. */
struct spec *engine_parse_spec(struct engine *engine, const json_t *json, int64_t ensemble, struct error *err);

/* Lets the spec of an ensemble, or of a follow-up of it, read the parameters of members that were suggested. Does
 * nothing for other specs. */
void engine_give_parameters(struct engine *engine, struct spec *spec, int64_t ensemble);

#endif
