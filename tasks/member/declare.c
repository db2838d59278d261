#include "tasks/member/declare.h"

#include "tasks/member/convert.h"

int declare_set(struct field *field, enum stretto_dtype dtype, int ndim, const uint64_t *extents, struct error *err)
{
    bool varies = ndim > 0 && extents[0] == EXTENT_VARIES;
    uint64_t unit = 1;

    if (dtype_size(dtype) == 0)
        return error_set(err, "stream_field", "field \"%s\": %d is no element type", field->name, (int)dtype);
    for (int i = ndim - 1; i >= 0; i--) {
        uint64_t most = FIELD_BYTES_MAX / dtype_size(dtype) / unit;

        field->shape[i] = extents[i];
        if (i == 0 && varies)
            field->max = most;
        else if (extents[i] == 0 || extents[i] > most)
            return error_set(err, "stream_field", "field \"%s\" has an extent below 1, or is larger than 16 GiB",
                             field->name);
        if (i > 0)
            unit *= extents[i];
    }
    if (!varies)
        field->max = 0;
    field->dtype = dtype;
    field->ndim = ndim;
    field->unit = unit * dtype_size(dtype);
    field->count = ndim > 0 ? unit * (varies ? field->max : extents[0]) : 1;
    field->bytes = field->count * dtype_size(dtype);
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

static int64_t first_extent(const struct field *field)
{
    return field->ndim > 0 ? (int64_t)field->shape[0] : 1;
}

int declare_fixed(const struct field *field, int64_t *extent, struct error *err)
{
    if (field_varies(field))
        return error_set(err, "stream_field",
                         "the first extent of field \"%s\" varies: it is told by the calls that end in _extent",
                         field->name);
    *extent = first_extent(field);
    return 0;
}

int declare_extent(const struct field *field, int64_t extent, struct error *err)
{
    char text[96];

    if (field_varies(field) && (extent < 0 || (uint64_t)extent > field->max))
        return error_set(err, "stream_field", "the first extent of field \"%s\" is from 0 to %llu, not %lld",
                         field->name, (unsigned long long)field->max, (long long)extent);
    if (!field_varies(field) && extent != first_extent(field))
        return error_set(err, "stream_field", "field \"%s\" is always %s: its first extent cannot be %lld", field->name,
                         shape_text(text, sizeof text, field->ndim, field->shape), (long long)extent);
    return 0;
}
