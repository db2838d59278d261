/* Files of Python objects where arrays are expected. They are not read, since reading a pickle runs its content. */
#ifndef DAEMON_SPEC_PICKLED_H
#define DAEMON_SPEC_PICKLED_H
#include "common/error.h"

#include <stdbool.h>

/* Refuses an array of objects with the line of NumPy that makes columns of it. `single`: it is one object. Returns
 * -1. */
int pickled_refuse_array(const char *path, const char *array, bool single, struct error *err);

/* Refuses a file that is a pickle or a single array in the same way. Returns 0 for any other file. */
int pickled_check_file(const char *path, int fd, struct error *err);
#endif
