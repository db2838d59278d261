/* The one pass over a field's data: from the simulation's array into the send buffer. */
#ifndef TASKS_MEMBER_CONVERT_H
#define TASKS_MEMBER_CONVERT_H
#include "tasks/member/stretto.h"

/* Returns whether `from` can be sent as `to`: the types are the same, or float64 becomes float32. */
int convert_possible(enum stretto_dtype from, enum stretto_dtype to);

/* Converts `count` elements; `to` and `from` do not overlap. */
void convert(void *to, enum stretto_dtype to_dtype, const void *from, enum stretto_dtype from_dtype, size_t count);
#endif
