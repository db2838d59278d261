#include "tasks/member/convert.h"

#include "tasks/proto/fields.h"

#include <string.h>

int convert_possible(enum stretto_dtype from, enum stretto_dtype to)
{
    return from == to || (from == STRETTO_FLOAT64 && to == STRETTO_FLOAT32);
}

/* Some compilers do not vectorise this loop with -O2 alone. */
__attribute__((optimize("O3"))) static void narrow(float *restrict to, const double *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)from[i];
}

void convert(void *to, enum stretto_dtype to_dtype, const void *from, enum stretto_dtype from_dtype, size_t count)
{
    if (count == 0) /* `from` may be NULL then */
        return;
    if (to_dtype == from_dtype)
        memcpy(to, from, count * dtype_size(to_dtype));
    else
        narrow(to, from, count);
}
