/* Parameters of a member: a pure function of (method, seed, index), the same for ever. */
#ifndef DAEMON_SPEC_PARAMS_H
#define DAEMON_SPEC_PARAMS_H
#include "common/error.h"

#include <jansson.h>
#include <stdint.h>

struct params;

/* Parse the spec's members.parameters object, `at` being its JSON pointer. `obj` is borrowed and must outlive the
 * result. Methods: halton, monte-carlo, latin-hypercube; or a grid. */
struct params *params_parse(const json_t *obj, const char *at, struct error *err);
void params_destroy(struct params *p);

int64_t params_count(const struct params *p);
/* Names in the spec's order, at most params_size(). */
size_t params_size(const struct params *p);
const char *params_name(const struct params *p, size_t i);
/* The parameters of member `index` as a new JSON object, in the spec's order. */
json_t *params_at(const struct params *p, int64_t index);
/* The member's own seed. */
uint64_t params_seed(const struct params *p, int64_t index);
#endif
