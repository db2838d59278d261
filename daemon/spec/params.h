/* Parameters of a member. They are a pure function of method, seed and index, or rows that are stored, so that
 * they never change. */
#ifndef DAEMON_SPEC_PARAMS_H
#define DAEMON_SPEC_PARAMS_H
#include "common/error.h"
#include "daemon/spec/rows.h"

#include <jansson.h>
#include <stdint.h>

#define PARAMS_MAX 256

struct params;

/* Parses the object members.parameters of a spec; `at` is its JSON pointer. `obj` is borrowed and must outlive the
 * result. It names a method (halton, monte-carlo, latin-hypercube), a grid, a file, or the
 * parameters that suggestions have; NULL stands for a single member without parameters. For a file, `rows` is its copy,
 * which is taken over on success; else it is NULL. */
struct params *params_parse(const json_t *obj, const char *at, struct rows *rows, struct error *err);
/* Finds the file that the object names, which must be absolute and have a known suffix. Returns 1 and *path (borrowed),
 * 0 if it names none, -1 with err. */
int params_file(const json_t *obj, const char *at, const char **path, struct error *err);
/* Checks that a parameter may have this name. Fails with code "spec_impossible_value" at `pointer`. */
int params_check_name(const char *name, const char *pointer, struct error *err);
void params_destroy(struct params *p);
/* Leaves the rows to the caller, because the spec around p is refused. */
void params_keep_rows(struct params *p);

/* Lets templates have one more word, a literal, beside the names of parameters. */
void params_know(struct params *p, const char *word);
bool params_knows(const struct params *p, const char *word);

int64_t params_count(const struct params *p);
/* Names in the order of the spec; there are params_size(). */
size_t params_size(const struct params *p);
const char *params_name(const struct params *p, size_t i);
/* Finds the parameter that a placeholder stands for, or reaches into, as {optimizer.name} does, where *path is then
 * what is behind its name; else NULL. Returns its number, params_size() if there is none. */
size_t params_find(const struct params *p, const char *placeholder, const char **path);
/* Returns whether each member has a value for the placeholder; of rows and suggestions, whether one may have it. */
bool params_reach(const struct params *p, const char *placeholder);
/* These return how many bytes the value of a parameter can have in a command, and all parameters of a member together
 * as JSON. They return 0 for rows that were not read just now. */
size_t params_longest(const struct params *p, size_t i);
size_t params_longest_json(const struct params *p);
/* The source of the parameters: rows, of a file or suggested, each of which is only known when it is read; suggestions;
 * a method that draws them. */
bool params_are_rows(const struct params *p);
bool params_are_open(const struct params *p);
/* Returns how many suggestions there may be; 0 if the spec does not say. */
int64_t params_most(const struct params *p);
bool params_are_drawn(const struct params *p);
/* A parameter of a grid has so many values; the k-th of them is returned as a new reference. */
size_t params_choices(const struct params *p, size_t i);
json_t *params_choice(const struct params *p, size_t i, size_t k);
/* Returns which combinations of some parameters of a grid occur among members, as remains_combinations(); NULL if all
 * do. */
bool *params_combinations(const struct params *p, const size_t *which, const size_t *n, size_t count);
/* Returns whether the parameter is a number for every member, so that a training can learn from it. Those of
 * suggestions are, if there is a training. */
bool params_is_numeric(const struct params *p, size_t i);
/* Returns the parameters of a member of an open ensemble, or of its follow-ups, as a new object; NULL, and logs
 * it, if they cannot be read. */
typedef json_t *params_give(void *arg, int64_t root, int64_t index);
/* Says where the parameters of such members are read. */
void params_ask(struct params *p, params_give *give, void *arg, int64_t root);
/* Returns the parameters of member `index` as a new JSON object, in the order of the spec. Returns NULL, and logs it,
 * only if they are rows that cannot be read. */
json_t *params_at(const struct params *p, int64_t index);
/* Returns the path of the rows' file; NULL if the parameters are from elsewhere. */
const char *params_path(const struct params *p);
/* Returns one parameter of a member, a new reference. */
json_t *params_one(const struct params *p, size_t i, int64_t index);
/* Returns the seed that the member gets. */
uint64_t params_seed(const struct params *p, int64_t index);
#endif
