/* Lines about changes that are not stored yet. They are kept until the changes are, and are not written where these are taken back:
 * the log never tells of something that has not happened. For one thread. */
#ifndef COMMON_LOG_CHANGES_H
#define COMMON_LOG_CHANGES_H
#include "common/log.h"

/* Keep lines from now on, or write what is kept and keep no more (as at first). */
void log_changes_keep(bool keep);

/* As log_line(); `fmt` is a literal. */
void log_change(enum log_level level, const struct log_ids *ids, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

void log_changes_write(void); /* they are stored */
void log_changes_drop(void);  /* they are taken back */
#endif
