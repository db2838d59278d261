/* Text for people, of the fields of the API's objects. */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#define RENDER_SIZE 64

/* A text that came from elsewhere, with what a terminal would obey replaced: control characters, and marks that turn the direction of the
 * text around. To be freed. */
char *render_text(const char *text);

/* "2m13s"; "1h02m", "0.4s". Returns buf. */
char *render_duration(char buf[RENDER_SIZE], double seconds);

/* "3 min ago", "in 12 h", "now", of a time of the API; another text as it is. Returns buf. */
char *render_age(char buf[RENDER_SIZE], const char *iso);

/* "512 B", "12.3 MiB": bytes, "-" for null or missing. Returns buf. */
char *render_size(char buf[RENDER_SIZE], const json_t *bytes);

/* From one time of an object to another; -1 where one is missing. */
double render_seconds_between(const json_t *obj, const char *from, const char *to);

/* Unix seconds of "2026-01-31T12:00:00Z", or -1. */
double render_time_parse(const char *iso);

/* A number as short as it makes sense: "0.0131", "83.1", "12034". Returns buf. "-" for null or missing. */
char *render_number(char buf[RENDER_SIZE], const json_t *value);

/* The same for the value of a metric, where null means that it is not finite: "NaN". */
char *render_metric(char buf[RENDER_SIZE], const json_t *value);

/* A document of the API to stdout, unchanged, ended by a newline. */
void render_document(const char *text);

/* Whole number of a key, or 0. */
int64_t get_int(const json_t *obj, const char *key);
/* A string of a key, or "". */
const char *get_string(const json_t *obj, const char *key);
const char *get_reason(const json_t *obj); /* its reason, or of one that waits what it waits for; "": none */
#endif
