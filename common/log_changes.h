/* Log lines about changes of the database that are not committed yet. They are kept until the commit, and dropped with
 * a rollback, so that the log never reports what has not happened. For one thread only. */
#ifndef COMMON_LOG_CHANGES_H
#define COMMON_LOG_CHANGES_H
#include "common/log.h"

/* With true, lines are kept from now on; with false (as at first), the kept ones are written, and new ones at once. */
void log_changes_keep(bool keep);

/* Like log_line(). `fmt` must be a literal, since it identifies the place in the program. */
void log_change(enum log_level level, const struct log_ids *ids, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void log_changes_write(void); /* the changes are committed: write the kept lines */
void log_changes_drop(void);  /* the changes are rolled back: forget the kept lines */
#endif
