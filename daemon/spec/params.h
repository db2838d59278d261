/* Parameters of a member: a pure function of (method, seed, index), the same for ever. */
#ifndef DAEMON_SPEC_PARAMS_H
#define DAEMON_SPEC_PARAMS_H
#include "common/error.h"
#include "daemon/spec/rows.h"

#include <jansson.h>
#include <stdint.h>

struct params;

/* Parse the spec's members.parameters object, `at` being its JSON pointer. `obj` is borrowed and must outlive the
 * result. Methods: halton, monte-carlo, latin-hypercube; or a grid; or a file, of which `rows` is the copy (NULL where
 * there is none), taken over on success. */
struct params *params_parse(const json_t *obj, const char *at, struct rows *rows, struct error *err);
/* The file that the object names, absolute and with a known suffix: 1 and *path (borrowed), 0 where it names none, -1. */
int params_file(const json_t *obj, const char *at, const char **path, struct error *err);
/* Whether a parameter may have this name; code "spec_impossible_value" at `pointer`. */
int params_check_name(const char *name, const char *pointer, struct error *err);
void params_destroy(struct params *p);
/* Leave the rows to the caller: the spec around p is refused. */
void params_keep_rows(struct params *p);

int64_t params_count(const struct params *p);
/* Names in the spec's order, at most params_size(). */
size_t params_size(const struct params *p);
const char *params_name(const struct params *p, size_t i);
/* Bytes that a parameter's value can have in a command, and all of a member's parameters together as JSON; 0 for those of a file
 * that was not read just now. */
size_t params_longest(const struct params *p, size_t i);
size_t params_longest_json(const struct params *p);
/* True where every member's value is a number: what a training can learn from. */
bool params_is_numeric(const struct params *p, size_t i);
/* The parameters of member `index` as a new JSON object, in the spec's order. NULL (logged) only where they come from a
 * file whose copy cannot be read. */
json_t *params_at(const struct params *p, int64_t index);
/* One of them, a new reference. */
json_t *params_one(const struct params *p, size_t i, int64_t index);
/* The member's own seed. */
uint64_t params_seed(const struct params *p, int64_t index);
#endif
