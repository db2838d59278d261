/* JSON values made of what the daemon holds. Each returns a new reference, never NULL. */
#ifndef API_VALUE_H
#define API_VALUE_H
#include "common/text.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Paths, reasons and error texts may hold any bytes: what is not UTF-8 becomes U+FFFD. */
json_t *value_text(const char *text);
json_t *value_text_or_null(const char *text); /* null where NULL or empty */

json_t *value_or_null(json_t *value); /* takes value over; null where NULL */

json_t *value_seconds(int64_t ms, bool known); /* null where it is not known */
json_t *value_time(int64_t ms); /* RFC 3339; null where 0 */
json_t *value_real(double x);   /* null where not finite */

void value_put_real(struct text *text, double x); /* the same, written into a text */
void value_put_time(struct text *text, int64_t ms);

/* The text of a reply: compact, one final newline. NULL where there is no memory. Does not take `value`. */
char *value_dump(const json_t *value);
#endif
