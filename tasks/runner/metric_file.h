/* A file to which a program appends lines of metrics. It is read on as it grows; where it was replaced, or has become
 * shorter, from its beginning. */
#ifndef TASKS_RUNNER_METRIC_FILE_H
#define TASKS_RUNNER_METRIC_FILE_H
#include "tasks/runner/metric_line.h"

#include <sys/types.h>

struct metric_file {
    char *path;
    const char *name; /* for people */
    bool may_be_csv;  /* its first line tells whether it is */
    enum { METRIC_FILE_NEW, METRIC_FILE_JSON, METRIC_FILE_CSV, METRIC_FILE_WRONG } format;
    struct metric_columns *columns; /* of CSV */
    dev_t dev;
    ino_t inode;
    int64_t offset;
    int64_t lines; /* so far */
    char *rest;    /* the beginning of a line, METRIC_LINE_MAX bytes of room; NULL: none was read yet */
    size_t n_rest;
    bool too_long; /* what is read belongs to a line that is passed over */
    int64_t wrong; /* lines */
    char first_wrong[200];
};

/* `path` is taken over. */
void metric_file_init(struct metric_file *file, char *path, const char *name, bool may_be_csv);
void metric_file_fini(struct metric_file *file);

/* Reads at most `limit` bytes that are new, and calls each() with every line. With `ended` a last line without a
 * newline counts, too. Returns how many bytes there were. */
int64_t metric_file_read(struct metric_file *file, int64_t limit, bool ended,
                         void (*each)(void *arg, const struct metric_line *line), void *arg);
#endif
