/* {placeholders} in commands and environment: {name} stands for a value, and {{ and }} for braces. */
#ifndef DAEMON_SPEC_TEMPLATE_H
#define DAEMON_SPEC_TEMPLATE_H
#include "common/error.h"
#include "common/text.h"

#include <jansson.h>
#include <stdbool.h>

/* Checks that every placeholder in `text` is known. Fails with code "spec_unfilled_placeholder" at `pointer`, or
 * "spec_bad_placeholder" for a single brace. */
int template_check(const char *text, bool (*known)(void *arg, const char *name), void *arg, const char *pointer,
                   struct error *err);

/* The text of a placeholder, for those that are not in the JSON object. */
struct template_word {
    const char *name, *text;
};

/* Fills a checked text into `out`, which is emptied first. The values come from `words` (the last one has no name; may
 * be NULL) and from an object of values, into which {name.key} and {name.0} reach. Returns -1, without a result, if it
 * would have more than `max` bytes. */
int template_fill(struct text *out, const char *text, const struct template_word *words, const json_t *values,
                  size_t max);
/* Does the same, with another form of values than that of template_put_value(). */
int template_fill_by(struct text *out, const char *text, const struct template_word *words, const json_t *values,
                     void (*put)(struct text *out, const json_t *value), size_t max);

/* Returns whether something fills each placeholder of a checked text; if not, the name of one that is left in
 * `name`. */
#define TEMPLATE_NAME_MAX 255
bool template_is_full(const char *text, const struct template_word *words, const json_t *values,
                      char name[TEMPLATE_NAME_MAX + 1]);

/* Adds a value in the form that it has in a filled text:
 *
 * - a string as it is
 * - a number in the shortest form that reads back the same
 * - a list or an object as compact JSON */
void template_put_value(struct text *out, const json_t *value);

/* Returns how many bytes a filled text can have; longest(arg, name) says it for a placeholder. Stops counting beyond
 * `max`. */
size_t template_longest(const char *text, size_t max, size_t (*longest)(void *arg, const char *name), void *arg);
#endif
