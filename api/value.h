/* Makes JSON values. Each function returns a new reference, never NULL. */
#ifndef API_VALUE_H
#define API_VALUE_H
#include "common/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns a text, such as a path or a reason, which may hold any bytes: what is not UTF-8 becomes U+FFFD. */
json_t *value_text(const char *text);
json_t *value_text_or_null(const char *text); /* null if it is NULL or empty */

json_t *value_or_null(json_t *value); /* takes value over; null if it is NULL */

json_t *value_seconds(int64_t ms, bool known); /* null if it is not known */
json_t *value_time(int64_t ms);                /* RFC 3339; null for 0 */
json_t *value_real(double x);                  /* null if it is not finite */
json_t *value_metric(double x);                /* as text_metric_json() */

/* These write into a text what the functions above return. */
void value_put_real(struct text *text, double x);
void value_put_metric(struct text *text, double x);
void value_put_time(struct text *text, int64_t ms);

/* Returns the text of a reply: compact, with one newline at the end. NULL if there is no memory. Does not take
 * `value`. */
char *value_dump(const json_t *value);
#endif
