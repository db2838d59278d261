/* {placeholders} in commands and environment: {name} stands for a value, {{ and }} for a brace. */
#ifndef DAEMON_SPEC_TEMPLATE_H
#define DAEMON_SPEC_TEMPLATE_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>

/* Check that every placeholder in `text` is known. Code "spec_unfilled_placeholder" at `pointer`, or
 * "spec_bad_placeholder" for a lone brace. */
int template_check(const char *text, bool (*known)(void *arg, const char *name), void *arg, const char *pointer,
                   struct error *err);

/* Fill a checked text from an object of strings, numbers and booleans; a new string. */
char *template_fill(const char *text, const json_t *values);

/* A JSON scalar as it stands on a command line; numbers in the shortest form that reads back the same. New string. */
char *template_value(const json_t *value);
#endif
