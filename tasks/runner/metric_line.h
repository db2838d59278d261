/* Lines by which programs report metrics: JSON such as {"name": "loss", "step": 10, "value": 0.5} or
 * {"step": 10, "loss": 0.5}. They may hold anything; every function reads within the bounds that it is given. */
#ifndef TASKS_RUNNER_METRIC_LINE_H
#define TASKS_RUNNER_METRIC_LINE_H
#include "tasks/proto/points.h"

#include <stdbool.h>

#define METRIC_LINE_MAX 65536 /* bytes of a line */
#define METRIC_VALUES_MAX 100 /* of a line */
#define METRIC_NUMBER_MAX 64  /* bytes of a number, with a NUL */

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

/* Reads an object. Values that are no numbers are skipped, except the strings "nan" and "inf", in any case and with a
 * sign. null is no value: the metric was not evaluated. Returns 0, also if there is no value, or -1 with *why, a
 * phrase. */
int metric_line_json(const char *text, size_t size, struct metric_line *line, const char **why);

/* Reads a whole word as a number, which may be nan or inf in any case. */
bool metric_number_read(const char *text, size_t size, double *value);
/* Adds a value; one too many is left out. */
void metric_line_add(struct metric_line *line, const char *name, double value);
/* Sets the step. Returns false if no step can have this value. */
bool metric_line_step(struct metric_line *line, double value);
#endif
