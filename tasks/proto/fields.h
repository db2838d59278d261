/* The fields of a stream: names, element types and shapes, as the spec's training.fields gives them. Members and ranks
 * both number them by the bytewise order of their names, so that the order of keys in a JSON text does not matter. */
#ifndef TASKS_PROTO_FIELDS_H
#define TASKS_PROTO_FIELDS_H
#include "common/error.h"
#include "tasks/member/stretto.h"
#include "tasks/proto/frame.h"

#include <jansson.h>
#include <stdbool.h>

#define FIELDS_MAX 64
#define FIELD_BYTES_MAX ((uint64_t)16 << 30)
/* A member may have sent some fields, and not the others, of so many steps at once: ranks keep these steps aside. */
#define FIELDS_OPEN_STEPS_MAX 64

/* The value for a leading extent that each sample sets itself; as an int64_t it is the -1 of the spec. */
#define EXTENT_VARIES UINT64_MAX

struct field {
    char *name;
    enum stretto_dtype dtype;
    int ndim;
    uint64_t shape[FRAME_MAX_DIMS]; /* the first may be EXTENT_VARIES */
    uint64_t max;                   /* the largest leading extent, if it varies */
    uint64_t count;                 /* elements; the maximum if the extent varies */
    uint64_t bytes;                 /* bytes; the maximum if the extent varies */
    uint64_t unit;                  /* bytes for each entry of the leading extent; of all for a scalar */
};

struct field_set {
    int count;
    struct field field[FIELDS_MAX];
};

/* Parses {"temperature": {"dtype": "float32", "shape": [100, 100]}, "particles": {"dtype": "float64", "shape": [-1, 3],
 * "max": 5000}, …}; `at` is the object's JSON pointer. On success the caller frees the set by field_set_fini(). */
int field_set_parse(const json_t *fields, const char *at, struct field_set *set, struct error *err);
void field_set_fini(struct field_set *set);

/* Returns the number of the field of that name, or -1. */
int field_set_find(const struct field_set *set, const char *name);

/* Returns the bytes of an element; 0 for an unknown type. */
size_t dtype_size(int dtype);
const char *dtype_name(int dtype);

/* Returns 1 if the shape is the field's, as declared. */
int field_has_shape(const struct field *field, int ndim, const uint64_t *shape);

bool field_varies(const struct field *field);

/* Returns the bytes of the field with that leading extent, which is at most its max if it varies and else its
 * own. */
uint64_t field_bytes(const struct field *field, uint64_t extent);

/* Returns whether a SAMPLE frame's type, shape and length are those of the field, and agree with each other. */
bool field_takes(const struct field *field, const struct frame *frame);

/* Writes "100x100" or "-1x3"; returns buf. */
char *shape_text(char *buf, size_t size, int ndim, const uint64_t *shape);
#endif
