/* Combinations of parameters that a spec leaves out: the list members.parameters.exclude.
 *
 * Each item is an object of conditions, and what meets all of its conditions is left out. The key of a condition is a
 * parameter, or a term of several and of constants, such as "workers * batch" or "workers * 2"; "optimizer.name" is
 * what is inside of one.
 * The condition holds for the value that it gives, or for {"in": [values]}, or within bounds, of which it has one or
 * more: {"above": 256}, "at_least", "at_most", "below". */
#ifndef DAEMON_SPEC_EXCLUDE_H
#define DAEMON_SPEC_EXCLUDE_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct exclude;

struct exclude_parameter {
    const char *name;
    const json_t *values; /* a list; NULL if it is drawn from a range */
};

/* The value of a parameter in a combination. */
struct exclude_value {
    const json_t *json; /* NULL if it is drawn */
    double number;      /* NAN if the value is no number */
};

/* Parses the list at the pointer `at`. It is borrowed, and must outlive the result. */
struct exclude *exclude_parse(const json_t *list, const char *at, const struct exclude_parameter *parameters, size_t n,
                              struct error *err);
void exclude_destroy(struct exclude *exclude);

/* Returns how many objects the list has. */
size_t exclude_size(const struct exclude *exclude);
bool exclude_names(const struct exclude *exclude, size_t parameter);
/* Returns whether a combination is left out; it has a value for each parameter that is named. */
bool exclude_meets(const struct exclude *exclude, const struct exclude_value *values);
#endif
