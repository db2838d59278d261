/* Puts a record into the words of one line of the log. */
#ifndef COMMON_LOG_FORMAT_H
#define COMMON_LOG_FORMAT_H
#include "common/log.h"

#include <stddef.h>

#define LOG_LINE_MAX 4096 /* bytes of a line: a pipe takes so many in one piece (PIPE_BUF) */

struct log_record {
    enum log_level level;
    int64_t time_ms;
    const char *program;
    int pid;
    const struct log_ids *ids; /* may be NULL */
    const char *message;
};

/* The beginning of a line, before its message. */
enum log_frame {
    LOG_PLAIN,   /* TIME PROGRAM[PID] LEVEL: */
    LOG_JOURNAL, /* <PRIORITY>, for systemd's journal, which knows the rest */
    LOG_SYSLOG,  /* <PRIORITY>TIME PROGRAM[PID]: */
};

/* Writes the line to `out` and returns its length. A newline ends it, except with LOG_SYSLOG. A message that is too
 * long is cut; line breaks in it and bytes that are not UTF-8 are replaced. */
size_t log_format(char out[LOG_LINE_MAX], const struct log_record *record, enum log_format format,
                  enum log_frame frame);

/* Returns whether a line that some program of ours wrote as LOG_TEXT with LOG_PLAIN has the level info or debug. */
bool log_is_notice(const char *line);
#endif
