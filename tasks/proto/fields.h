/* The fields of a stream: names, element types and shapes, as the spec's training.fields gives them. Members and ranks
 * both number them by the bytewise order of their names, so that the order of keys in a JSON text does not matter. */
#ifndef TASKS_PROTO_FIELDS_H
#define TASKS_PROTO_FIELDS_H
#include "common/error.h"
#include "tasks/member/stretto.h"
#include "tasks/proto/frame.h"

#include <jansson.h>

#define FIELDS_MAX 64
#define FIELD_BYTES_MAX ((uint64_t)16 << 30)
/* Of how many steps at once a member may have sent some fields and not the others: ranks keep these aside. */
#define FIELDS_OPEN_STEPS_MAX 64

struct field {
    char *name;
    enum stretto_dtype dtype;
    int ndim;
    uint64_t shape[FRAME_MAX_DIMS];
    uint64_t count; /* elements */
    uint64_t bytes;
};

struct field_set {
    int count;
    struct field field[FIELDS_MAX];
};

/* {"temperature": {"dtype": "float32", "shape": [100, 100]}, …}; `at` is the object's JSON pointer. On success the set
 * is the caller's, for field_set_fini(). */
int field_set_parse(const json_t *fields, const char *at, struct field_set *set, struct error *err);
void field_set_fini(struct field_set *set);

/* Number of the field of that name, or -1. */
int field_set_find(const struct field_set *set, const char *name);

/* Bytes of an element; 0 for an unknown type. */
size_t dtype_size(int dtype);
const char *dtype_name(int dtype);

/* 1 where the shape is the field's. */
int field_has_shape(const struct field *field, int ndim, const uint64_t *shape);

/* "100x100"; returns buf. */
char *shape_text(char *buf, size_t size, int ndim, const uint64_t *shape);
#endif
