/* The Range header (RFC 9110), of which only a single range of bytes is supported. */
#ifndef API_RANGE_H
#define API_RANGE_H
#include <stdint.h>

enum range_answer { RANGE_ALL, RANGE_PART, RANGE_UNSATISFIABLE };

/* Applies `text` (NULL if there is no header) to a body of `size` bytes. *first and *end (one past the last) are always
 * set to the bytes to send. Several ranges, other units and nonsense ask for everything, as the standard allows. */
enum range_answer range_parse(const char *text, int64_t size, int64_t *first, int64_t *end);
#endif
