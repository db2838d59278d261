/* Directories in which the artefacts of members are found under names made from parameters. */
#ifndef DAEMON_SPEC_RESULTS_H
#define DAEMON_SPEC_RESULTS_H
#include "daemon/spec/spec.h"

/* Returns the directory of a member's results, to be freed: absolute, or relative to the directory of the first
 * ensemble of the family. No value adds a part to the path: what cannot be in a name is written as %2F. Returns NULL
 * with code "spec_impossible_value" if the path is too long for a file system, or reaches for what the member does
 * not have. `values` are the member's parameters. */
char *spec_results_of(const struct spec *spec, int64_t index, const json_t *values, struct error *err);

/* Checks at submission that every member gets a directory of its own. Fails with a pointer into the spec. */
int spec_check_results(const struct spec *spec, struct error *err);
#endif
