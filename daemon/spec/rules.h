/* Rules: a spec may differ from a reference only in what they name. */
#ifndef DAEMON_SPEC_RULES_H
#define DAEMON_SPEC_RULES_H
#include "daemon/spec/spec.h"

/* Returns the reference of the spec's rules: the number of an ensemble, or a spec; NULL if it has none. */
const json_t *rules_reference(const struct spec *spec);

/* Checks a spec with rules against their reference, of which `text` is the JSON with directories as in this spec
 * (spec_align_after()). It compares:
 *
 * - everything except what the reference's rules let vary, and what only decides when members run
 * - the parameters (rules_compare_parameters())
 * - the SHA-256 of files
 *
 * Fails with code "rules_broken", the pointer of the first difference and both values. */
int rules_check(const struct spec *spec, const struct spec *reference, const json_t *text, struct error *err);

/* Compares parameters:
 *
 * - the seed
 * - the combinations of values of parameters that may not vary, which must be the same on both sides
 * - the kinds of values of those that may, since a text in the place of a number can be more than a value to a shell */
int rules_compare_parameters(const struct spec *spec, const struct spec *reference, struct error *err);

/* Returns whether the rules of a reference let a parameter, or a place in the spec (a pointer), vary. */
bool rules_let_vary(const struct spec *reference, const char *name);

/* Checks that the places of all files are absolute, since attempts hash them. */
int rules_check_places(const struct spec *spec, struct error *err);

/* Returns the paths of the files that each attempt hashes, beside what it runs; NULL if the spec has no rules. A new
 * reference. */
json_t *rules_attest(const struct spec *spec);

#define RULES_SHOWN 80 /* characters of a value in a message */
/* Writes a value into a message; missing ones have words. */
void rules_show(char out[RULES_SHOWN + 8], const json_t *value);

/* Returns the text of a submitted spec in which the reference is frozen: that of ensemble `id` is there as a spec. A
 * new reference. */
json_t *rules_freeze(const json_t *spec, int64_t id, const json_t *reference);
#endif
