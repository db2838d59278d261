/* Resources of members that depend on their parameters, such as "tasks": "{workers}". */
#ifndef DAEMON_SPEC_NEEDS_H
#define DAEMON_SPEC_NEEDS_H
#include "daemon/spec/spec.h"

/* Returns whether a value of `resources` is a template. Only those of some keys may be. */
bool needs_is_template(const char *key, const json_t *value);

/* Finds the resources of a member with these parameters. Fails with a pointer if a value is none, or if it does
 * not go with the rest of the spec; *out is then what all members have in common. */
int needs_fill(const struct spec *spec, const json_t *values, struct adapter_resources *out, struct error *err);
int needs_of(const struct spec *spec, int64_t index, struct adapter_resources *out, struct error *err);

bool needs_are_equal(const struct adapter_resources *a, const struct adapter_resources *b);

/* Calls each() for all resources that members can have; never if parameters are rows, whose members are looked
 * at one by one when they are suggested or started. Stops if
 * each() does not return 0, and returns that; -1 with err if there is a wrong value. */
int needs_each(const struct spec *spec, int (*each)(void *arg, const struct adapter_resources *r, struct error *err),
               void *arg, struct error *err);

/* Sets spec->members.resources to the most of each that any member can have. */
int needs_measure(struct spec *spec, struct error *err);

/* Refuses a spec that its other parts make impossible. */
int needs_check(const struct spec *spec, struct error *err);

/* Returns the member's own values by their keys, a new object; NULL if all members have the same. */
json_t *needs_json(const struct spec *spec, const json_t *values);

#endif
