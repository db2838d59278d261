/* Strict reading of JSON objects that people wrote: each reader fetches one key, checks type and range, and names the
 * place by a JSON pointer on failure. jsonx_only() then refuses the keys that nobody asked for.
 *
 * `at` is the pointer of the object itself ("" for the root). A missing or null optional key leaves *out untouched. */
#ifndef COMMON_JSONX_H
#define COMMON_JSONX_H
#include "common/error.h"

#include <jansson.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdint.h>

enum jsonx_need { JSONX_OPTIONAL, JSONX_REQUIRED };

/* Writes the JSON pointer `at`/`key` to buf, with ~ and / escaped (RFC 6901), cut to size. Returns buf. */
char *jsonx_pointer(char *buf, size_t size, const char *at, const char *key);

/* Reads a string, which is borrowed from the object. An empty one is refused. */
int jsonx_string(const json_t *obj, const char *at, const char *key, enum jsonx_need need, const char **out,
                 struct error *err);
int jsonx_int(const json_t *obj, const char *at, const char *key, enum jsonx_need need, int64_t min, int64_t max,
              int64_t *out, struct error *err);
int jsonx_bool(const json_t *obj, const char *at, const char *key, enum jsonx_need need, bool *out, struct error *err);
/* Reads a finite number, integer or real. */
int jsonx_number(const json_t *obj, const char *at, const char *key, enum jsonx_need need, double *out,
                 struct error *err);
/* Reads a duration (a string that common/units.h understands) of at least min_ms. */
int jsonx_duration(const json_t *obj, const char *at, const char *key, enum jsonx_need need, int64_t min_ms,
                   int64_t *out_ms, struct error *err);
/* Reads a size (a string that common/units.h understands). */
int jsonx_size(const json_t *obj, const char *at, const char *key, enum jsonx_need need, int64_t *out_bytes,
               struct error *err);
/* Both read a borrowed value: an object, and an array of at least min_items. */
int jsonx_object(const json_t *obj, const char *at, const char *key, enum jsonx_need need, const json_t **out,
                 struct error *err);
int jsonx_array(const json_t *obj, const char *at, const char *key, enum jsonx_need need, size_t min_items,
                const json_t **out, struct error *err);
/* Reads a borrowed array whose items are all strings. */
int jsonx_strings(const json_t *obj, const char *at, const char *key, enum jsonx_need need, size_t min_items,
                  const json_t **out, struct error *err);

/* Refuses every key of obj that is not in the list, which NULL ends. The error names the keys that are known. */
int jsonx_only(const json_t *obj, const char *at, const char *const *known, struct error *err);

/* Returns the type of a value in words: "a string", "an integer", … */
const char *jsonx_type_name(const json_t *value);

/* Returns whether jansson failed for lack of memory. Its error code does not always say so. */
bool jsonx_no_memory(const json_error_t *err);

#define JSONX_PATH_MAX 255

/* Returns the value that a path of at most JSONX_PATH_MAX bytes leads to, or NULL: "name.key.0" is the first item of
 * what "key" is in the value of "name". A key that has dots in it is found as it stands. The value is borrowed. */
const json_t *jsonx_reach(const json_t *obj, const char *path);
const json_t *jsonx_inside(const json_t *value, const char *path); /* which may be a list, too */

/* Returns the value as compact text with `end` behind it, to be freed, or NULL if there is no memory or the value is
 * NULL. json_dumps(), by contrast, may leave out a key when memory is short. */
char *jsonx_dump(const json_t *value, const char *end);

/* Does the same as json_dumps(), but each real has the fewest digits that read back as the same number: 0.1, and not
 * 0.10000000000000001. To be freed. */
char *jsonx_dumps(const json_t *value, size_t flags);
/* Prints a value so, on one line. */
void jsonx_print(const json_t *value, FILE *to);

/* Returns the JSON of a text behind the byte order mark that some editors put in front of it. */
const char *jsonx_skip_mark(const char *text, size_t size);

#endif
