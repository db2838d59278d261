/* Parameters that a generator suggests for a member of an open ensemble. */
#ifndef DAEMON_SPEC_SUGGESTION_H
#define DAEMON_SPEC_SUGGESTION_H
#include "daemon/spec/params.h"

/* Checks the parameters of a suggestion, an object at `at`: it has each of those that the spec names, and no other.
 * `numeric`: they must be numbers. Fails with a code "spec_..." at the value that is wrong, or at the object if all
 * of them together are too large. */
int suggestion_check(const struct params *p, const json_t *values, bool numeric, const char *at, struct error *err);
#endif
