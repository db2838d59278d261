/* Taking a spec that was submitted. */
#ifndef DAEMON_ENGINE_SUBMIT_H
#define DAEMON_ENGINE_SUBMIT_H
#include <jansson.h>

struct engine;
struct ensemble_row;
struct error;
struct spec;

/* Checks that the spec could run here. Fails with a code and a pointer into the spec. */
int engine_check_resources(struct engine *engine, const struct spec *spec, struct error *err);
/* Checks a spec, which was parsed from `json`, against the reference of its rules, if it has one. Where that is an
 * ensemble, *frozen is the spec with the reference's own in its place, a new reference. A spec of a follow-up has a
 * frozen one already. */
int engine_check_rules(struct engine *engine, const json_t *json, const struct spec *spec, json_t **frozen,
                       struct error *err);
void engine_draw_stream_key(struct engine *engine, struct ensemble_row *row);

#endif
