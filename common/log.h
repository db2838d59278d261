/* The log: one event, one line, said once, where an error is handled.
 *
 * A line is a sentence for people. The ensemble, member or job that it is about is given besides, as ids, which become
 * fields of their own if the log is JSON. Lines go to stderr until log_open() says otherwise. Writing never blocks
 * and never fails: a line that cannot be written now is lost, and the number of lost lines is logged as soon as that is
 * possible. All functions may be called from any thread. */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_NONE = -1, LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

/* The things that a line is about. An id is 0 or NULL, and a member -1, if the line is not about such a thing. */
struct log_ids {
    int64_t ensemble, member, attempt, training;
    const char *job, *adapter;
    uint64_t request; /* the number that the client sees as X-Request-Id */
};
#define LOG_ENSEMBLE(id) (&(const struct log_ids){.ensemble = (id), .member = -1})
#define LOG_TRAINING(of, id) (&(const struct log_ids){.ensemble = (of), .member = -1, .training = (id)})
#define LOG_JOB(of, name) (&(const struct log_ids){.ensemble = (of), .member = -1, .job = (name)})
#define LOG_ATTEMPT(of, index, number, in)                                                                             \
    (&(const struct log_ids){.ensemble = (of), .member = (index), .attempt = (number), .job = (in)})
#define LOG_ADAPTER(name) (&(const struct log_ids){.member = -1, .adapter = (name)})
#define LOG_REQUEST(number) (&(const struct log_ids){.member = -1, .request = (number)})

void log_init(const char *program, enum log_level level); /* program: kept by the caller */
void log_line(enum log_level level, const struct log_ids *ids, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Logs a message that was put into words before, at time_ms. `site` is the format string, which identifies the place in
 * the program. */
#define LOG_MESSAGE_MAX 2048
void log_message(enum log_level level, int64_t time_ms, const struct log_ids *ids, const char *site,
                 const char *message);

/* Returns whether an error or a warning has been logged since the program began. */
bool log_troubled(void);

#define log_error(...) log_line(LOG_LEVEL_ERROR, 0, __VA_ARGS__)
#define log_warn(...) log_line(LOG_LEVEL_WARN, 0, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, 0, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, 0, __VA_ARGS__)
/* Like log_error() and so on, with ids: log_warn_of(LOG_JOB(7, name), "job %s waits", name). */
#define log_error_of(ids, ...) log_line(LOG_LEVEL_ERROR, ids, __VA_ARGS__)
#define log_warn_of(ids, ...) log_line(LOG_LEVEL_WARN, ids, __VA_ARGS__)
#define log_info_of(ids, ...) log_line(LOG_LEVEL_INFO, ids, __VA_ARGS__)

/* For programs that run for long: sends lines elsewhere and, unless the level is debug, leaves repeated ones out. `to`
 * is "stderr", "syslog", "syslog:SOCKET" or the absolute path of a file, which is made with mode 0600. Fails with code
 * "log_unusable". */
int log_open(const char *to, enum log_format format, struct error *err);
bool log_to_valid(const char *to);
void log_reopen(void); /* opens the file anew by its name, after log rotation has moved the old one away */
void log_settle(void); /* logs how many repeated lines were left out in minutes that are over; to be called regularly */
void log_close(void);  /* logs all that was left out; lines go to stderr again */
#endif
