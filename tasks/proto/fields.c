#include "tasks/proto/fields.h"

#include "common/jsonx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    enum stretto_dtype dtype;
    const char *name;
    size_t size;
} dtypes[] = {
    {STRETTO_FLOAT32, "float32", 4}, {STRETTO_FLOAT64, "float64", 8}, {STRETTO_INT32, "int32", 4},
    {STRETTO_INT64, "int64", 8},     {STRETTO_UINT8, "uint8", 1},
};

#define DTYPES (sizeof dtypes / sizeof *dtypes)

size_t dtype_size(int dtype)
{
    for (size_t i = 0; i < DTYPES; i++)
        if ((int)dtypes[i].dtype == dtype)
            return dtypes[i].size;
    return 0;
}

const char *dtype_name(int dtype)
{
    for (size_t i = 0; i < DTYPES; i++)
        if ((int)dtypes[i].dtype == dtype)
            return dtypes[i].name;
    return "unknown";
}

static int parse_dtype(const char *name, enum stretto_dtype *dtype)
{
    for (size_t i = 0; i < DTYPES; i++)
        if (strcmp(dtypes[i].name, name) == 0) {
            *dtype = dtypes[i].dtype;
            return 0;
        }
    return -1;
}

/* Reads the largest value of an extent that varies: it limits the size of the buffers beforehand. */
static int parse_max(const json_t *value, const char *at, struct field *field, struct error *err)
{
    int64_t max = 0;

    if (jsonx_int(value, at, "max", JSONX_REQUIRED, 1, INT64_MAX, &max, err) < 0)
        return -1;
    field->max = (uint64_t)max;
    return 0;
}

static int parse_shape(const json_t *shape, const char *at, struct field *field, struct error *err)
{
    if (json_array_size(shape) > FRAME_MAX_DIMS)
        return error_at(err, "spec_impossible_value", at, "a field has at most %d dimensions", FRAME_MAX_DIMS);
    field->ndim = (int)json_array_size(shape);
    field->count = 1;
    for (int i = 0; i < field->ndim; i++) {
        const json_t *extent = json_array_get(shape, (size_t)i);
        json_int_t n = i == 0 && field->max > 0 ? (json_int_t)field->max : json_integer_value(extent);

        if (!json_is_integer(extent) || n < 1)
            return error_at(err, "spec_impossible_value", at, "the extents of a shape are integers from 1");
        if ((uint64_t)n > FIELD_BYTES_MAX / field->count)
            return error_at(err, "spec_impossible_value", at, "a field is larger than 16 GiB");
        field->shape[i] = (uint64_t)n;
        field->count *= (uint64_t)n;
    }
    field->bytes = field->count * dtype_size(field->dtype);
    field->unit = field->ndim > 0 ? field->bytes / field->shape[0] : field->bytes;
    if (field->max > 0)
        field->shape[0] = EXTENT_VARIES;
    if (field->bytes > FIELD_BYTES_MAX)
        return error_at(err, "spec_impossible_value", at, "a field is larger than 16 GiB");
    return 0;
}

static int parse_field(const json_t *value, const char *at, struct field *field, struct error *err)
{
    const json_t *shape;
    const char *dtype;
    char where[256];

    if (!json_is_object(value))
        return error_at(err, "spec_wrong_type", at, "a field must be an object");
    if (jsonx_string(value, at, "dtype", JSONX_REQUIRED, &dtype, err) < 0)
        return -1;
    if (parse_dtype(dtype, &field->dtype) < 0)
        return error_at(err, "spec_impossible_value", jsonx_pointer(where, sizeof where, at, "dtype"),
                        "\"%s\" is no element type: float32, float64, int32, int64 or uint8", dtype);
    if (jsonx_array(value, at, "shape", JSONX_REQUIRED, 0, &shape, err) < 0 ||
        (json_integer_value(json_array_get(shape, 0)) == -1 && parse_max(value, at, field, err) < 0))
        return -1;
    return parse_shape(shape, jsonx_pointer(where, sizeof where, at, "shape"), field, err);
}

static int fields_by_name(const void *a, const void *b)
{
    return strcmp(((const struct field *)a)->name, ((const struct field *)b)->name);
}

int field_set_parse(const json_t *fields, const char *at, struct field_set *set, struct error *err)
{
    const char *name;
    json_t *value;
    char where[256];

    memset(set, 0, sizeof *set);
    if (json_object_size(fields) < 1 || json_object_size(fields) > FIELDS_MAX)
        return error_at(err, "spec_impossible_value", at, "a stream has from 1 to %d fields", FIELDS_MAX);
    json_object_foreach ((json_t *)fields, name, value) {
        struct field *field = &set->field[set->count];

        if (parse_field(value, jsonx_pointer(where, sizeof where, at, name), field, err) < 0) {
            field_set_fini(set);
            return -1;
        }
        field->name = strdup(name);
        if (field->name == NULL) {
            field_set_fini(set);
            return error_at(err, "fields_memory", at, "no memory for the fields of a stream");
        }
        set->count++;
    }
    qsort(set->field, (size_t)set->count, sizeof *set->field, fields_by_name);
    return 0;
}

void field_set_fini(struct field_set *set)
{
    for (int i = 0; i < set->count; i++)
        free(set->field[i].name);
    memset(set, 0, sizeof *set);
}

int field_set_find(const struct field_set *set, const char *name)
{
    for (int i = 0; i < set->count; i++)
        if (strcmp(set->field[i].name, name) == 0)
            return i;
    return -1;
}

int field_has_shape(const struct field *field, int ndim, const uint64_t *shape)
{
    if (ndim != field->ndim)
        return 0;
    for (int i = 0; i < ndim; i++)
        if (shape[i] != field->shape[i])
            return 0;
    return 1;
}

bool field_varies(const struct field *field)
{
    return field->max > 0;
}

uint64_t field_bytes(const struct field *field, uint64_t extent)
{
    return field_varies(field) ? extent * field->unit : field->bytes;
}

bool field_takes(const struct field *field, const struct frame *frame)
{
    uint64_t extent = frame->shape[0];

    if (frame->dtype != field->dtype || frame->ndim != field->ndim || (field_varies(field) && extent > field->max))
        return false;
    for (int i = 0; i < frame->ndim; i++)
        if (frame->shape[i] != field->shape[i] && !(i == 0 && field_varies(field)))
            return false;
    return frame->length == field_bytes(field, extent);
}

char *shape_text(char *buf, size_t size, int ndim, const uint64_t *shape)
{
    size_t n = 0;

    snprintf(buf, size, "scalar");
    for (int i = 0; i < ndim && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%lld", i ? "x" : "", (long long)shape[i]);
    return buf;
}
