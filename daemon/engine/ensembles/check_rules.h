/* Checks whether a spec keeps the rules that it names, against their reference. */
#ifndef DAEMON_ENGINE_ENSEMBLES_CHECK_RULES_H
#define DAEMON_ENGINE_ENSEMBLES_CHECK_RULES_H
#include <jansson.h>

struct engine;
struct error;
struct spec;

/* Checks a spec, which was parsed from `json`, against the reference of its rules, if it has one. If that is an
 * ensemble, *frozen is the spec with the reference's own in its place, a new reference. A spec of a follow-up has a
 * frozen one already. */
int engine_check_rules(struct engine *engine, const json_t *json, const struct spec *spec, json_t **frozen,
                       struct error *err);

#endif
