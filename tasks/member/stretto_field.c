#include "tasks/member/stretto_private.h"

#include "tasks/member/declare.h"

#include <string.h>

/* Adds a field to an idle stream, if the program's own declarations replace the spec's, so that memory can be
 * lent. */
static int add_field(struct stretto *s, const char *name)
{
    if (s->env.fields.count == FIELDS_MAX)
        return error_set(&s->err, "stream_field", "a stream has at most %d fields", FIELDS_MAX);
    s->env.fields.field[s->env.fields.count].name = strdup(name);
    if (s->env.fields.field[s->env.fields.count].name == NULL)
        return error_set(&s->err, "stream_memory", "no memory for the field \"%s\"", name);
    return s->env.fields.count++;
}

int stretto_field(struct stretto *s, const char *name, enum stretto_dtype dtype, int ndim, const int64_t *shape)
{
    uint64_t extents[FRAME_MAX_DIMS];
    struct field *field;
    int number = field_set_find(&s->env.fields, name), rc;

    if (stretto_check_owner(s) < 0)
        return -1;
    if (number < 0 && s->env.active)
        return error_set(&s->err, "stream_field", "the spec's training has no field \"%s\"", name);
    if (ndim < 0 || ndim > FRAME_MAX_DIMS)
        return error_set(&s->err, "stream_field", "field \"%s\": a field has at most %d dimensions", name,
                         FRAME_MAX_DIMS);
    if (number < 0 && (number = add_field(s, name)) < 0)
        return -1;
    field = &s->env.fields.field[number];
    for (int i = 0; i < ndim; i++)
        extents[i] = shape[i] > 0 ? (uint64_t)shape[i] : i == 0 && shape[i] == -1 ? EXTENT_VARIES : 0;
    rc = s->env.active ? declare_check(field, dtype, ndim, extents, &s->err)
                       : declare_set(field, dtype, ndim, extents, &s->err);
    if (rc < 0)
        return -1;
    lending_fini(&s->field[number].lending);
    s->field[number].declared = true;
    s->field[number].dtype = dtype;
    return number;
}

int stretto_describe(struct stretto *s, const char *name, enum stretto_dtype *dtype, int *ndim,
                     int64_t shape[STRETTO_NDIM_MAX])
{
    const struct field *field;
    int number;

    if (stretto_check_owner(s) < 0)
        return -1;
    if (!s->env.active)
        return 0;
    number = field_set_find(&s->env.fields, name);
    if (number < 0)
        return error_set(&s->err, "stream_field", "the spec's training has no field \"%s\"", name);
    field = &s->env.fields.field[number];
    *dtype = field->dtype;
    *ndim = field->ndim;
    for (int i = 0; i < STRETTO_NDIM_MAX; i++)
        shape[i] = i < field->ndim ? (int64_t)field->shape[i] : 1;
    return 1;
}
