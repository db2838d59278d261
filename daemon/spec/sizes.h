/* Limits of what a program can be given: the kernel's on arguments and environment, and that of a job's descriptor.
 *
 * They are checked twice. spec_check_sizes() refuses a spec whose members would exceed them, as far as that is known
 * when it is submitted. Planning (plan_tasks.c of the engine) counts the bytes of each member, and fails one that has
 * too many. */
#ifndef DAEMON_SPEC_SIZES_H
#define DAEMON_SPEC_SIZES_H
#include "daemon/spec/spec.h"

/* bytes of an argument, or of NAME=VALUE: MAX_ARG_STRLEN less its NUL */
#define SIZES_STRING_MAX (((size_t)128 << 10) - 1)
#define SIZES_TOTAL_MAX ((size_t)2 << 20) /* bytes of all of them: a quarter of the usual limit on the stack */
#define SIZES_POINTER sizeof(char *)      /* the kernel counts a pointer for each, besides its NUL */

/* Checks that every member, the training and a whole job stay within the limits. Fails with code
 * "spec_impossible_value". Its pointer is that of the argument or variable or, if only the sum is too large, that of
 * the members, the training or /pack. */
int spec_check_sizes(const struct spec *spec, struct error *err);
#endif
