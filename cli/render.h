/* Makes text for people of the fields of the API's objects. */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#define RENDER_SIZE 64

/* Returns a text that came from elsewhere without anything that a terminal would obey: control characters, and marks
 * that turn the direction of the text around, are replaced. To be freed. */
char *render_text(const char *text);

/* Writes a duration as "2m13s", "1h02m" or "0.4s". Returns buf. */
char *render_duration(char buf[RENDER_SIZE], double seconds);

/* Writes a time of the API as "3 min ago", "in 12 h" or "now", and any other text as it is. Returns buf. */
char *render_age(char buf[RENDER_SIZE], const char *iso);

/* Writes a time of the API as "12:04 (3 min ago)" by the clock of this machine, with the day if that is not today. Any
 * other text is written as it is. Returns buf. */
char *render_moment(char buf[RENDER_SIZE], const char *iso);

/* Writes a time of the API as "12:04:31" by the clock of this machine, with the day if that is another one, and
 * any other text as it is. Returns buf. */
char *render_clock(char buf[RENDER_SIZE], const char *iso);

/* Like render_text(), for a sentence of the daemon: each time in it is written as by render_moment(). To be freed. */
char *render_sentence(const char *text);

/* Writes bytes as "512 B" or "12.3 MiB"; "-" for null or missing. Returns buf. */
char *render_size(char buf[RENDER_SIZE], const json_t *bytes);

/* Returns the seconds from one time of an object to another; -1 if one is missing. */
double render_seconds_between(const json_t *obj, const char *from, const char *to);

/* Returns the Unix seconds of "2026-01-31T12:00:00Z", or -1. */
double render_time_parse(const char *iso);

/* Writes a number as short as makes sense: "0.0131", "83.1", "12034"; "-" for null or missing. Returns buf. */
char *render_number(char buf[RENDER_SIZE], const json_t *value);

/* Like render_number(), for the value of a metric: "not finite" if it is NaN or infinite. */
char *render_metric(char buf[RENDER_SIZE], const json_t *value);

/* Prints a document of the API to stdout, unchanged, ended by a newline. */
void render_document(const char *text);

/* Returns the whole number under a key, or 0. */
int64_t get_int(const json_t *obj, const char *key);
/* Returns the string under a key, or "". */
const char *get_string(const json_t *obj, const char *key);
const char *get_reason(const json_t *obj); /* its "reason", else what it "waits_for"; "" for none */
#endif
