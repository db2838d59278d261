/* A text that grows. JSON is written straight into it if building a jansson value first would cost more than all
 * else. */
#ifndef COMMON_TEXT_H
#define COMMON_TEXT_H
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* A text is empty when it is all zeros. */
struct text {
    char *data; /* from malloc, ended by NUL; NULL until something is added */
    size_t size, room;
};

void text_add(struct text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_put(struct text *text, const char *bytes, size_t size);
void text_string(struct text *text, const char *string);
void text_number(struct text *text, int64_t n);

/* Writes the digits of n, ended by NUL, and returns where the NUL is. printf() would take ten times as long, since it
 * has to read a format. */
#define TEXT_DIGITS 21
char *text_digits(char out[TEXT_DIGITS], int64_t n);

/* Writes a number as people do, with the fewest digits that mean it and no other: "0.05", "1e18". A value that is not
 * finite is written as in Python: "NaN", "Infinity", "-Infinity". Returns out. */
#define TEXT_REAL 32
char *text_real(char out[TEXT_REAL], double number);

/* Copies a string into an array of `size` bytes, cut if there is no room. Faster than snprintf("%s"). */
void text_copy(char *out, size_t size, const char *string);

/* Both add JSON: a string in quotes ("" for one that is not UTF-8), and any value, whose
 * reals have the digits of text_real(). */
void text_json_string(struct text *text, const char *string);
void text_json(struct text *text, const json_t *value);

/* JSON has no infinite numbers: as the value of a metric, these are the strings "Infinity" and "-Infinity", and null is
 * NaN. text_metric_value() returns NaN for anything else that is no number. */
json_t *text_metric_json(double value);
double text_metric_value(const json_t *value);
#endif
