/* What a program declares of a field, held against the spec, or put in its place. */
#ifndef TASKS_MEMBER_DECLARE_H
#define TASKS_MEMBER_DECLARE_H
#include "tasks/proto/fields.h"

/* 0 where the spec's field can be sent from such an array. `extents` has `ndim` (0 to FRAME_MAX_DIMS) elements, 0 for
 * one that cannot be; the first may be EXTENT_VARIES. */
int declare_check(const struct field *field, enum stretto_dtype dtype, int ndim, const uint64_t *extents,
                  struct error *err);

/* Fill a field that has only its name; -1 where no spec could have such a field. */
int declare_set(struct field *field, enum stretto_dtype dtype, int ndim, const uint64_t *extents, struct error *err);

/* The first extent of every sample of the field (1 for a scalar); -1 where it varies. */
int declare_fixed(const struct field *field, int64_t *extent, struct error *err);

/* 0 where a sample of the field may have that first extent. */
int declare_extent(const struct field *field, int64_t extent, struct error *err);
#endif
