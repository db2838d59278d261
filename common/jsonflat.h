/* A fast reader for small flat JSON records, such as exit records: jansson's parser takes several times as long as
 * everything else that is done with one. */
#ifndef COMMON_JSONFLAT_H
#define COMMON_JSONFLAT_H
#include <jansson.h>

/* Reads an object whose keys and strings are printable ASCII without escapes, and whose values are strings, numbers
 * without an exponent, true, false or null; returns what json_loadb(text, size, JSON_REJECT_DUPLICATES) would. Returns
 * NULL for all other text, valid or not; the caller then asks jansson. text[size] must be a NUL. */
json_t *json_load_flat(const char *text, size_t size);
#endif
