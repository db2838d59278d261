/* The lesser of two numbers. */
#ifndef COMMON_LESSER_H
#define COMMON_LESSER_H
#include <stdint.h>

static inline int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif
