#include "tasks/member/declare.h"

#include "tasks/member/convert.h"

int declare_set(struct field *field, enum stretto_dtype dtype, int ndim, const uint64_t *extents, struct error *err)
{
    uint64_t count = 1;

    if (dtype_size(dtype) == 0)
        return error_set(err, "stream_field", "field \"%s\": %d is no element type", field->name, (int)dtype);
    for (int i = 0; i < ndim; i++) {
        if (extents[i] == 0 || extents[i] > FIELD_BYTES_MAX / dtype_size(dtype) / count)
            return error_set(err, "stream_field", "field \"%s\" has an extent below 1, or is larger than 16 GiB",
                             field->name);
        count *= extents[i];
        field->shape[i] = extents[i];
    }
    field->dtype = dtype;
    field->ndim = ndim;
    field->count = count;
    field->bytes = count * dtype_size(dtype);
    return 0;
}

int declare_check(const struct field *field, enum stretto_dtype dtype, int ndim, const uint64_t *extents,
                  struct error *err)
{
    char given[96], wanted[96];

    if (!field_has_shape(field, ndim, extents))
        return error_set(err, "stream_field", "field \"%s\" is %s here, but %s in the spec", field->name,
                         shape_text(given, sizeof given, ndim, extents),
                         shape_text(wanted, sizeof wanted, field->ndim, field->shape));
    if (!convert_possible(dtype, field->dtype))
        return error_set(err, "stream_field", "field \"%s\" is %s here, but %s in the spec", field->name,
                         dtype_name(dtype), dtype_name(field->dtype));
    return 0;
}
