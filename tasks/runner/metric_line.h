/* Lines by which programs report metrics: JSON such as {"name": "loss", "step": 10, "value": 0.5} or
 * {"step": 10, "loss": 0.5}, and the rows of a CSV file. They may hold anything; every function reads within the bounds
 * that it is given. */
#ifndef TASKS_RUNNER_METRIC_LINE_H
#define TASKS_RUNNER_METRIC_LINE_H
#include "tasks/proto/points.h"

#include <stdbool.h>

#define METRIC_LINE_MAX 65536 /* bytes of a line */
#define METRIC_VALUES_MAX 100 /* of a line */

struct metric_value {
    char name[POINTS_NAME_MAX + 1];
    double value;
};

struct metric_line {
    bool has_step;
    int64_t step;
    double
        time; /* Unix seconds, or seconds since the start of the attempt if it is below METRIC_TIME_EPOCH; NaN: none */
    size_t n; /* values */
    struct metric_value values[METRIC_VALUES_MAX];
};

#define METRIC_TIME_EPOCH 1e8

/* Reads an object. What is no number is passed over, but for null and the strings "nan" and "inf", in any case and with
 * a sign, which are values. Returns 0, also where there is no value, or -1 with *why, a phrase. */
int metric_line_json(const char *text, size_t size, struct metric_line *line, const char **why);

/* The columns of a CSV file, by its first line. */
struct metric_columns {
    size_t n;
    enum { COLUMN_NONE, COLUMN_VALUE, COLUMN_STEP, COLUMN_TIME } kind[METRIC_VALUES_MAX];
    char names[METRIC_VALUES_MAX][POINTS_NAME_MAX + 1];
};

int metric_columns_read(const char *text, size_t size, struct metric_columns *columns, const char **why);

/* Reads a row. An empty field, or one that is no number, is no value. */
int metric_line_csv(const char *text, size_t size, const struct metric_columns *columns, struct metric_line *line,
                    const char **why);
#endif
