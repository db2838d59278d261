#include "examples/heat/output_npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct output_npy {
    FILE *file;
    char *path, *part;
    float *row; /* grid values */
    int grid, steps, written;
};

static void release(struct output_npy *o)
{
    if (o->file != NULL)
        fclose(o->file);
    free(o->path);
    free(o->part);
    free(o->row);
    free(o);
}

/* Writes the header of format version 1.0: magic, length, and a Python dict padded so that the data starts at a
 * multiple of 64. */
static int write_header(struct output_npy *o)
{
    const int order_probe = 1;
    const char order = *(const char *)&order_probe == 1 ? '<' : '>';
    char text[118];
    unsigned char head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, sizeof text, 0};
    int n = snprintf(text, sizeof text, "{'descr': '%cf4', 'fortran_order': False, 'shape': (%d, %d, %d), }", order,
                     o->steps, o->grid, o->grid);

    memset(text + n, ' ', sizeof text - (size_t)n);
    text[sizeof text - 1] = '\n';
    return fwrite(head, sizeof head, 1, o->file) == 1 && fwrite(text, sizeof text, 1, o->file) == 1 ? 0 : -1;
}

int output_npy_open(struct output_npy **out, const char *path, int steps, int grid, struct error *err)
{
    struct output_npy *o = calloc(1, sizeof *o);

    *out = NULL;
    if (o == NULL)
        return error_errno(err, "output", "cannot write %s", path);
    o->steps = steps;
    o->grid = grid;
    o->row = calloc((size_t)grid, sizeof *o->row);
    o->path = strdup(path);
    if (o->row == NULL || o->path == NULL || asprintf(&o->part, "%s.part", path) < 0) {
        o->part = NULL;
        goto fail;
    }
    o->file = fopen(o->part, "wb");
    if (o->file == NULL || write_header(o) < 0)
        goto fail;
    *out = o;
    return 0;
fail:
    error_errno(err, "output", "cannot write %s", path);
    release(o);
    return -1;
}

int output_npy_write(struct output_npy *o, const double *field, struct error *err)
{
    for (int j = 0; j < o->grid; j++) {
        for (int i = 0; i < o->grid; i++)
            o->row[i] = (float)field[(size_t)j * (size_t)o->grid + (size_t)i];
        if (fwrite(o->row, sizeof *o->row, (size_t)o->grid, o->file) != (size_t)o->grid)
            return error_errno(err, "output", "cannot write %s", o->part);
    }
    o->written++;
    return 0;
}

int output_npy_close(struct output_npy *o, struct error *err)
{
    FILE *file = o->file;
    int rc = 0;

    o->file = NULL;
    if (o->written != o->steps) {
        fclose(file);
        rc = error_set(err, "output", "%s is left out: %d of %d steps were computed", o->path, o->written, o->steps);
    } else if (fclose(file) != 0 || rename(o->part, o->path) != 0) {
        rc = error_errno(err, "output", "cannot write %s", o->path);
    }
    if (rc < 0)
        unlink(o->part);
    release(o);
    return rc;
}
