#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p)
{
    if (p == NULL) {
        fputs("stretto: out of memory\n", stderr);
        abort();
    }
    return p;
}

void *xcalloc(size_t n, size_t size)
{
    return must(calloc(n ? n : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t n, size_t size)
{
    return must(reallocarray(p, n ? n : 1, size ? size : 1));
}

char *xstrdup(const char *s)
{
    return must(strdup(s));
}

char *xasprintf(const char *fmt, ...)
{
    va_list ap;
    char *out;

    va_start(ap, fmt);
    out = xvasprintf(fmt, ap);
    va_end(ap);
    return out;
}

char *xvasprintf(const char *fmt, va_list ap)
{
    char *out;

    return must(vasprintf(&out, fmt, ap) < 0 ? NULL : out);
}

char *alloc_printf(const char *fmt, ...)
{
    va_list ap, again;
    char *out = NULL;
    int size;

    va_start(ap, fmt);
    va_copy(again, ap);
    size = vsnprintf(NULL, 0, fmt, ap);
    if (size >= 0)
        out = malloc((size_t)size + 1);
    if (out != NULL)
        vsnprintf(out, (size_t)size + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return out;
}
