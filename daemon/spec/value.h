/* Values of parameters: numbers, strings, booleans, and lists and objects of such. */
#ifndef DAEMON_SPEC_VALUE_H
#define DAEMON_SPEC_VALUE_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>

/* Returns whether two values are the same; 1 and 1.0 are. */
bool value_equal(const json_t *a, const json_t *b);

#define VALUE_DEPTH_MAX 32 /* lists and objects in one another */

/* Checks that a parameter may have this value, at the pointer `at`:
 *
 * - it is not null, though something in it may be
 * - no text has a zero byte
 * - it is not too deep
 * - as JSON it is not larger than a program's environment allows */
int value_check(const json_t *value, const char *at, struct error *err);
#endif
