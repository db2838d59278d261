#include "common/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void error_fill(struct error *err, const char *code, const char *pointer, const char *fmt, va_list ap)
{
    /* a struct of its own, so that the arguments may quote *err, and its code and place can be kept */
    struct error filled;

    snprintf(filled.code, sizeof filled.code, "%s", code);
    snprintf(filled.pointer, sizeof filled.pointer, "%s", pointer);
    vsnprintf(filled.text, sizeof filled.text, fmt, ap);
    *err = filled;
}

int error_set(struct error *err, const char *code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    error_fill(err, code, "", fmt, ap);
    va_end(ap);
    return -1;
}

int error_at(struct error *err, const char *code, const char *pointer, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    error_fill(err, code, pointer, fmt, ap);
    va_end(ap);
    return -1;
}

int error_errno(struct error *err, const char *code, const char *fmt, ...)
{
    int saved = errno;
    size_t len;
    va_list ap;

    va_start(ap, fmt);
    error_fill(err, code, "", fmt, ap);
    va_end(ap);
    len = strlen(err->text);
    snprintf(err->text + len, sizeof err->text - len, ": %s", strerror(saved));
    errno = saved;
    return -1;
}
