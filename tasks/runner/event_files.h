/* TensorBoard's event files that a program writes: those of a directory, of several, or single ones. They are read on
 * as they grow, and new ones as they come, in the order of their names, which begin with the time. */
#ifndef TASKS_RUNNER_EVENT_FILES_H
#define TASKS_RUNNER_EVENT_FILES_H
#include "tasks/runner/metric_line.h"

struct event_files;

/* `pattern`, a glob(7) relative to `dir`, names event files, or directories that have some in them or below; the
 * metrics of those below are named with the path from there. */
struct event_files *event_files_create(const char *dir, const char *pattern);
void event_files_destroy(struct event_files *files); /* NULL is allowed */

/* Reads at most about `limit` bytes that are new, and calls each() with every event that has scalars. Returns how many
 * bytes there were. */
int64_t event_files_read(struct event_files *files, int64_t limit,
                         void (*each)(void *arg, const struct metric_line *line), void *arg);

/* Returns how many records could not be read, and what was wrong with the first one. */
int64_t event_files_wrong(const struct event_files *files, const char **first);
#endif
