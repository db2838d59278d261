/* All time steps of one run in a NumPy file: float32, C order, shape (steps, N, N). */
#ifndef HEAT_OUTPUT_NPY_H
#define HEAT_OUTPUT_NPY_H
#include "common/error.h"

#include <stddef.h>

struct output_npy;

/* Opens the file as "PATH.part", its name until it is complete. */
int output_npy_open(struct output_npy **out, const char *path, int steps, int grid, struct error *err);

/* Appends the next step: N × N values, narrowed to float32. */
int output_npy_write(struct output_npy *o, const double *field, struct error *err);

/* Renames the file to PATH if every step has been written, and removes it otherwise; frees in either case. */
int output_npy_close(struct output_npy *o, struct error *err);
#endif
