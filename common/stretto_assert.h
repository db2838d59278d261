/* stretto_assert(condition): a condition that holds here unless there is a bug. Builds for development stop if it does
 * not hold (configure --enable-sanitize, or -DSTRETTO_CHECKS). A daemon that people use goes on, and does not even
 * evaluate it. */
#ifndef COMMON_STRETTO_ASSERT_H
#define COMMON_STRETTO_ASSERT_H
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#if defined STRETTO_SANITIZE || defined STRETTO_CHECKS
#define stretto_assert(condition) ((condition) ? (void)0 : stretto_assert_failed(__FILE__, __LINE__, #condition))
#else
#define stretto_assert(condition) ((void)sizeof(condition))
#endif

static inline void stretto_assert_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, condition);
    abort();
}

#endif
