/* Files compiled into a program by build-aux/embed. */
#ifndef COMMON_EMBEDDED_H
#define COMMON_EMBEDDED_H
#include <stddef.h>

struct embedded {
    const char *name; /* of the file, as build-aux/embed says; NULL ends the table */
    const char *data; /* its bytes, followed by one NUL that `size` does not count */
    size_t size;
};
#endif
