/* A line of the log, put into words. */
#ifndef COMMON_LOG_FORMAT_H
#define COMMON_LOG_FORMAT_H
#include "common/log.h"

#include <stddef.h>

#define LOG_LINE_MAX 4096 /* of a whole line: what a pipe takes in one piece (PIPE_BUF) */

struct log_record {
    enum log_level level;
    int64_t time_ms;
    const char *program;
    int pid;
    const struct log_ids *ids; /* NULL: none */
    const char *message;
};

const char *log_level_name(enum log_level level);

/* How a line begins that others read. */
enum log_frame {
    LOG_PLAIN,   /* TIME PROGRAM[PID] LEVEL: */
    LOG_JOURNAL, /* <PRIORITY>, for systemd's journal, which knows the rest */
    LOG_SYSLOG,  /* <PRIORITY>TIME PROGRAM[PID]: */
};

/* Into out, ended by a newline (LOG_SYSLOG: without); returns the length. A message that is too long is cut, and what
 * would not be one line or not UTF-8 is replaced. */
size_t log_format(char out[LOG_LINE_MAX], const struct log_record *record, enum log_format format,
                  enum log_frame frame);

/* Returns whether the line was logged as LOG_TEXT or LOG_PLAIN, by any program, at level info or debug. */
bool log_is_notice(const char *line);
#endif
