/* check(condition): what holds here unless there is a bug. Builds for development (configure --enable-sanitize, or
 * -DSTRETTO_CHECKS) stop where it does not; a daemon that people use goes on, and does not even look. */
#ifndef COMMON_CHECK_H
#define COMMON_CHECK_H
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#if defined STRETTO_SANITIZE || defined STRETTO_CHECKS
#define check(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))
#else
#define check(condition) ((void)sizeof(condition))
#endif

static inline void check_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
    abort();
}

#endif
