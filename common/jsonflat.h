/* Reading small records fast: an object of plain values, such as an exit record, takes jansson's own parser several times as
 * long as all else that is done with it. */
#ifndef COMMON_JSONFLAT_H
#define COMMON_JSONFLAT_H
#include <jansson.h>

/* What json_loadb(text, size, JSON_REJECT_DUPLICATES) gives for an object whose keys and strings are printable ASCII without
 * escapes, and whose values are strings, numbers without an exponent, true, false or null. NULL for all else, right or
 * wrong: to be asked of jansson. text[size] is a NUL. */
json_t *json_load_flat(const char *text, size_t size);
#endif
