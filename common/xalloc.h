/* Allocation that cannot fail: a daemon that has no memory for a few bytes ends at once, with a message, and recovers
 * from its database as after any crash. Do not use it for sizes that come from input, nor in the libraries, since the
 * process of a user must survive there. */
#ifndef COMMON_XALLOC_H
#define COMMON_XALLOC_H
#include <stdarg.h>
#include <stddef.h>

void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t n, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *fmt, ...) __attribute__((malloc, returns_nonnull, format(printf, 1, 2)));
char *xvasprintf(const char *fmt, va_list ap) __attribute__((malloc, returns_nonnull, format(printf, 1, 0)));

/* For the libraries, beside malloc(): asprintf() that returns NULL if there is no memory. */
char *alloc_printf(const char *fmt, ...) __attribute__((malloc, format(printf, 1, 2)));
#endif
