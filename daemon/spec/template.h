/* {placeholders} in commands and environment: {name} stands for a value, {{ and }} for a brace. */
#ifndef DAEMON_SPEC_TEMPLATE_H
#define DAEMON_SPEC_TEMPLATE_H
#include "common/error.h"
#include "common/text.h"

#include <jansson.h>
#include <stdbool.h>

/* Check that every placeholder in `text` is known. Code "spec_unfilled_placeholder" at `pointer`, or
 * "spec_bad_placeholder" for a lone brace. */
int template_check(const char *text, bool (*known)(void *arg, const char *name), void *arg, const char *pointer,
                   struct error *err);

/* A value that is there already as text. */
struct template_word {
    const char *name, *text;
};

/* Fill a checked text from words, of which the one without a name is the last (NULL: there are none), and an object of strings,
 * numbers and booleans, into `out`, which is emptied first. Numbers stand there in the shortest form that reads back the same.
 * -1 where the result would have more than `max` bytes: it is not built then. */
int template_fill(struct text *out, const char *text, const struct template_word *words, const json_t *values, size_t max);

/* A value as it stands in a filled text. */
void template_put_value(struct text *out, const json_t *value);

/* Bytes of a filled text, at most, where longest(arg, name) tells the same of a placeholder. Counting stops beyond `max`. */
size_t template_longest(const char *text, size_t max, size_t (*longest)(void *arg, const char *name), void *arg);
#endif
