/* The file of points of an attempt, "points" in its directory (docs/run-directory.md): the runner appends what its task
 * reported of metrics, and the daemon reads on in it. */
#ifndef TASKS_PROTO_POINTS_H
#define TASKS_PROTO_POINTS_H
#include <stddef.h>
#include <stdint.h>

#define POINTS_FILE "points"
#define POINTS_NAME_MAX 100   /* bytes of a metric's name */
#define POINTS_LINE_MAX 512   /* bytes of a line */
#define POINTS_SERIES_MAX 100 /* of one attempt */
#define POINTS_STEP_MAX (INT64_C(1) << 53)

#define POINTS_PROGRESS "progress" /* the series that says how far the task is, from 0 to 1 */

/* A point of a series, or several neighbours that were merged; with one point, all values are its own. */
struct points_point {
    int64_t step, last_step, time_ms, last_time_ms, count, not_finite;
    double first, last;
    double min, max; /* of the finite values; NaN if there is none */
    double area;     /* under the curve, from the point before on: value times seconds; 0 for the first of an attempt */
    double within;   /* the part of it from the first point to the last one */
};

/* 1 to POINTS_NAME_MAX bytes of UTF-8 without control characters. */
int points_name_valid(const char *name);

/* Writes a line with its newline, and returns its length. */
size_t points_write(char out[POINTS_LINE_MAX], const char *name, const struct points_point *point);

/* A line without a point says what is wrong with what the attempt reports; an empty one, that nothing is wrong any
 * more. A longer text is cut. */
#define POINTS_NOTICE_MAX 256
size_t points_write_notice(char out[POINTS_LINE_MAX], const char *notice);
/* Returns 0, or -1 if it is no such line. */
int points_read_notice(const char *line, const char *end, char notice[POINTS_NOTICE_MAX]);

/* Reads a line, which ends at `end` without its newline. Returns 0, or -1 if it is none. */
int points_read(const char *line, const char *end, char name[POINTS_NAME_MAX + 1], struct points_point *point);

#endif
