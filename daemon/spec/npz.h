/* Reads NumPy's archives of arrays (.npz): each array is a parameter, and its first dimension that of the rows. */
#ifndef DAEMON_SPEC_NPZ_H
#define DAEMON_SPEC_NPZ_H
#include "common/error.h"

#include <jansson.h>
#include <stdint.h>

/* Reads the archive that the descriptor has, which is borrowed; the path is for errors. Calls column() for each array,
 * then row() for each row, from 1 on, with an object of all columns, which it borrows. If either fails, its result is
 * returned. Errors of the archive itself have the code "spec_parameter_file". Arrays are read row by row, except those
 * of several dimensions in Fortran's order. */
int npz_read(const char *path, int fd, int (*column)(void *arg, const char *name, struct error *err),
             int (*row)(void *arg, const json_t *row, int64_t number, struct error *err), void *arg, struct error *err);
#endif
