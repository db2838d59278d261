/* Rules: a spec may differ from a reference only in what they name. */
#ifndef DAEMON_SPEC_RULES_H
#define DAEMON_SPEC_RULES_H
#include "daemon/spec/spec.h"

/* Returns the reference of the spec's rules: the number of an ensemble, or a spec; NULL where it has none. */
const json_t *rules_reference(const struct spec *spec);

/* Checks a spec with rules against their reference: everything but what the rules let vary, and what only decides when
 * members run; the values of parameters; and the SHA-256 of files. Fails with code "rules_broken", the pointer of the
 * first difference and both values. */
int rules_check(const struct spec *spec, const struct spec *reference, struct error *err);

/* Returns the text of a submitted spec in which the reference is frozen: that of ensemble `id` is there as a spec. A
 * new reference. */
json_t *rules_freeze(const json_t *spec, int64_t id, const json_t *reference);
#endif
