/* A job fd is a text in a file without a name. One process writes it and hands the descriptor down to a child, which
 * replaces the text by its answer. The file lies in memory if the kernel can do that, and is gone when both have
 * closed it. */
#ifndef COMMON_JOBFD_H
#define COMMON_JOBFD_H
#include "common/error.h"

#include <stddef.h>

#define JOBFD_MAX ((size_t)64 << 20) /* bytes */

/* Makes a job fd. Returns its descriptor, which is closed on exec, or -1 with errno. */
int jobfd_write(const char *text, size_t size, struct error *err);

/* Returns the text of a job fd, ended by NUL, to be freed; NULL with errno. Does not block longer than reading memory
 * takes. */
char *jobfd_read(int fd, size_t *size, struct error *err);

/* Replaces the text of a job fd. A reader at the same time may see neither text, so a job fd is read only after its
 * writer has ended. */
int jobfd_answer(int fd, const char *text, size_t size, struct error *err);

#endif
