/* Reads decimal numbers in text files as people and numpy write them. */
#ifndef DAEMON_SPEC_NUMBER_H
#define DAEMON_SPEC_NUMBER_H
#include <jansson.h>
#include <stdbool.h>

/* Returns whether `text`, without blanks around it, is a decimal number. *out is then a new integer if it has neither
 * point nor exponent, and otherwise a new real. It is NULL for a number that JSON's integers or a double cannot hold.
 * Hexadecimal numbers, inf and nan are not read; nor is 007, which is a name. */
bool number_parse(const char *text, json_t **out);

/* Returns, as a phrase for errors, what a number for which it is NULL is beyond. */
const char *number_excess(const char *text);
#endif
