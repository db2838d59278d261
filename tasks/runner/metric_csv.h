/* Files of columns in which programs log metrics: CSV, or the same with semicolons, tabs or blanks between the fields.
 * */
#ifndef TASKS_RUNNER_METRIC_CSV_H
#define TASKS_RUNNER_METRIC_CSV_H
#include "tasks/runner/metric_line.h"

/* The columns of a file, by a line that names them. */
struct metric_columns {
    char separator; /* a blank: fields are words */
    size_t n;
    enum { COLUMN_NONE, COLUMN_VALUE, COLUMN_STEP, COLUMN_TIME } kind[METRIC_VALUES_MAX];
    char names[METRIC_VALUES_MAX][POINTS_NAME_MAX + 1];
};

/* Reads the line that names the columns, and finds out what separates them. Returns -1 with *why if it names no column
 * with values. */
int metric_columns_read(const char *text, size_t size, struct metric_columns *columns, const char **why);

/* Returns whether the line, which has no value, names columns again: one of those that it names is known. */
bool metric_columns_again(const char *text, size_t size, const struct metric_columns *columns);

/* Reads a row. An empty field, or one that is no number, is no value. Unless a comma separates fields, a number may
 * have a decimal comma. Returns -1 with *why if the row has more fields than there are columns, nothing but texts,
 * or a step that cannot be. */
int metric_line_csv(const char *text, size_t size, const struct metric_columns *columns, struct metric_line *line,
                    const char **why);
#endif
