/* Patterns of files below a task's directory. */
#ifndef TASKS_RUNNER_PATTERN_H
#define TASKS_RUNNER_PATTERN_H
#include <stdbool.h>

/* Returns whether a path is a pattern, rather than the name of one file. */
bool pattern_is(const char *text);
/* Returns a pattern (glob(7)) of files below a directory, whose own path is taken as it stands. To be freed. */
char *pattern_below(const char *dir, const char *pattern);
/* Returns the last path that matches the pattern, by the order of the numbers in it; NULL if none does. To be freed. */
char *pattern_last(const char *pattern);
bool pattern_matches(const char *dir, const char *pattern);
#endif
