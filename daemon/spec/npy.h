/* Reads an array in NumPy's format (.npy, versions 1 to 3): its header, and its items as JSON. */
#ifndef DAEMON_SPEC_NPY_H
#define DAEMON_SPEC_NPY_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NPY_DIMENSIONS_MAX 16
#define NPY_PREAMBLE 12                   /* bytes that npy_header_size() needs, at most */
#define NPY_HEADER_MAX ((size_t)64 << 10) /* bytes of the rest of the header */

enum npy_kind { NPY_BOOL, NPY_INTEGER, NPY_UNSIGNED, NPY_FLOAT, NPY_BYTES, NPY_TEXT, NPY_OBJECT };

struct npy {
    enum npy_kind kind;
    size_t item; /* bytes */
    bool big_endian, fortran;
    size_t dimensions;
    int64_t shape[NPY_DIMENSIONS_MAX];
};

/* Reads the first bytes of a file. *preamble are those before the header's text, and *text those of the text. All
 * errors have the code "spec_parameter_file". */
int npy_header_size(const unsigned char bytes[NPY_PREAMBLE], size_t *preamble, size_t *text, struct error *err);
/* Reads the header's text. Fails for arrays of objects, whose kind is set all the same, records, complex numbers, dates
 * and long doubles. */
int npy_parse(const char *text, size_t size, struct npy *out, struct error *err);

/* Returns an item as a new JSON value. Returns NULL with err for a value that JSON does not have, such as NaN. float16
 * and float32 are the shortest decimal numbers that read back the same. */
json_t *npy_item(const struct npy *array, const unsigned char *bytes, struct error *err);
#endif
