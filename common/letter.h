/* A letter: a text in a file without a name that one process makes and another one, to which the descriptor is handed down,
 * answers. It lies in memory where the kernel can do that, and goes when both have closed it. */
#ifndef COMMON_LETTER_H
#define COMMON_LETTER_H
#include "common/error.h"

#include <stddef.h>

#define LETTER_MAX ((size_t)64 << 20) /* bytes */

/* A descriptor, closed on exec; -1 with errno. */
int letter_write(const char *text, size_t size, struct error *err);

/* What stands in it, ended by NUL, to be freed; NULL with errno. Blocks no longer than memory takes. */
char *letter_read(int fd, size_t *size, struct error *err);

/* Replace what stands in it. Who reads meanwhile may see neither: a letter is read when its writer has ended. */
int letter_answer(int fd, const char *text, size_t size, struct error *err);

#endif
