/* Numbers in text files: decimal, as people and numpy write them. */
#ifndef DAEMON_SPEC_NUMBER_H
#define DAEMON_SPEC_NUMBER_H
#include <jansson.h>
#include <stdbool.h>

/* True where all of `text` (blanks around it aside) is a decimal number: *out is a new integer where it has neither
 * point nor exponent and fits 64 bits, else a real; NULL where it is beyond a double. No hexadecimal, no inf, no nan; and
 * 007 is not a number but a name. */
bool number_parse(const char *text, json_t **out);
#endif
