/* The Range header (RFC 9110), as far as it is of use: one range of bytes. */
#ifndef API_RANGE_H
#define API_RANGE_H
#include <stdint.h>

enum range_answer { RANGE_ALL, RANGE_PART, RANGE_UNSATISFIABLE };

/* Judge `text` (NULL: no header) against a body of `size` bytes. *first and *end (one past the last) are always set to
 * what is to be sent. Several ranges, other units and nonsense ask for everything, as the standard allows. */
enum range_answer range_parse(const char *text, int64_t size, int64_t *first, int64_t *end);
#endif
