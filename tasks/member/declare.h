/* A program's declaration of a field is compared with the spec, or takes its place if there is no spec. */
#ifndef TASKS_MEMBER_DECLARE_H
#define TASKS_MEMBER_DECLARE_H
#include "tasks/proto/fields.h"

/* Returns whether the spec's field can be sent from such an array: 0, or -1. `extents` has `ndim` (0 to FRAME_MAX_DIMS)
 * elements, 0 for an extent that is not valid; the first may be EXTENT_VARIES. */
int declare_check(const struct field *field, enum stretto_dtype dtype, int ndim, const uint64_t *extents,
                  struct error *err);

/* Fills in a field that has only its name; -1 if no spec could have such a field. */
int declare_set(struct field *field, enum stretto_dtype dtype, int ndim, const uint64_t *extents, struct error *err);

/* Gives the first extent of every sample of the field (1 for a scalar); -1 if it varies. */
int declare_fixed(const struct field *field, int64_t *extent, struct error *err);

/* Returns 0 if a sample of the field may have that first extent, else -1. */
int declare_extent(const struct field *field, int64_t extent, struct error *err);
#endif
