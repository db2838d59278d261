/* Finds files of metrics that a program has renamed, and those that it has begun and renamed since. */
#ifndef TASKS_RUNNER_METRIC_ROTATED_H
#define TASKS_RUNNER_METRIC_ROTATED_H
#include <stdbool.h>
#include <sys/stat.h>

/* Returns a path of the same file in the directory of `path`, to be freed; NULL if there is none. */
char *metric_rotated_find(const char *path, dev_t dev, ino_t inode);

/* Returns the path of the file that was written next after `last` had changed. It is `path` itself or a file beside it
 * whose name begins in the same way, such as log.csv.1. To be freed; NULL if there is none. */
char *metric_rotated_next(const char *path, const struct stat *last);
#endif
