/* All time steps of one run in a NumPy file: float32, C order, shape (steps, N, N). */
#ifndef HEAT_OUTPUT_NPY_H
#define HEAT_OUTPUT_NPY_H
#include "common/error.h"

#include <stddef.h>

struct output_npy;

/* Writes to "PATH.part" until it is closed whole. */
int output_npy_open(struct output_npy **out, const char *path, int steps, int grid, struct error *err);

/* Append the next step: N × N values, narrowed to float32. */
int output_npy_write(struct output_npy *o, const double *field, struct error *err);

/* Rename to PATH, where every step has been written, and remove the file otherwise; frees in either case. */
int output_npy_close(struct output_npy *o, struct error *err);
#endif
