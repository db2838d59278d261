/* A letter is a text in a file without a name. One process writes it and hands the descriptor down to a child, which
 * replaces the text by its answer. The file lies in memory where the kernel can do that, and is gone when both have
 * closed it. */
#ifndef COMMON_LETTER_H
#define COMMON_LETTER_H
#include "common/error.h"

#include <stddef.h>

#define LETTER_MAX ((size_t)64 << 20) /* bytes */

/* Makes a letter. Returns its descriptor, which is closed on exec, or -1 with errno. */
int letter_write(const char *text, size_t size, struct error *err);

/* Returns the text of a letter, ended by NUL, to be freed; NULL with errno. Does not block longer than reading memory
 * takes. */
char *letter_read(int fd, size_t *size, struct error *err);

/* Replaces the text of a letter. A reader at the same time may see neither text, so a letter is read only after its
 * writer has ended. */
int letter_answer(int fd, const char *text, size_t size, struct error *err);

#endif
