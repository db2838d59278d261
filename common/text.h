/* A text that grows, and JSON written straight into it where building a value first would cost more than all else. */
#ifndef COMMON_TEXT_H
#define COMMON_TEXT_H
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* All zeros: empty. */
struct text {
    char *data; /* from malloc, ended by NUL; NULL while nothing was added */
    size_t size, room;
};

void text_add(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_put(struct text *text, const char *bytes, size_t size);
void text_string(struct text *text, const char *string);
void text_number(struct text *text, int64_t n);

/* The digits of n, ended by NUL; returns where that is. What asks printf() for them pays for reading a format, ten times as much. */
#define TEXT_DIGITS 21
char *text_digits(char out[TEXT_DIGITS], int64_t n);

/* Into an array of `size`, cut where there is no room: snprintf("%s"), without looking for what to print, and how. */
void text_copy(char *out, size_t size, const char *string);

/* As JSON: a string in quotes (one that is not UTF-8 becomes ""), or whatever value it is. */
void text_json_string(struct text *text, const char *string);
void text_json(struct text *text, const json_t *value);

#endif
