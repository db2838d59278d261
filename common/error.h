/* An error has a stable code for programs, a sentence for people, and the place in the input if the input was wrong.
 *
 * Functions that can fail take a caller-owned `struct error *` (never NULL) as their last argument and return -1. The
 * helpers here return -1, so that `return error_set(err, …)` is one line. */
#ifndef COMMON_ERROR_H
#define COMMON_ERROR_H

struct error {
    char code[48];     /* e.g. "spec_unknown_key"; the codes that HTTP replies carry are listed in api/problem.c */
    char pointer[256]; /* JSON pointer into the input, "" if none applies */
    char text[768];    /* one sentence, no final newline */
};

int error_set(struct error *err, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Like error_set(), with the place in the input that is wrong. */
int error_at(struct error *err, const char *code, const char *pointer, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Like error_set(), with ": " and strerror(errno) after the sentence. */
int error_errno(struct error *err, const char *code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
