/* The log: one event, one line, said once, where an error is handled.
 *
 * A line is a sentence for people; the things that it is about are given besides, as ids, and are fields of their own
 * where the log is JSON. Lines go to stderr until log_open() says otherwise. Writing never blocks and never fails: a
 * line that cannot be written now is lost, and how many were is said as soon as one can be. Callable from any thread. */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_NONE = -1, LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

/* What a line is about: 0 or NULL where it is not about one, of members -1. */
struct log_ids {
    int64_t ensemble, member, attempt, training;
    const char *job, *adapter;
    uint64_t request; /* as X-Request-Id tells the client */
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

/* A line that was put into words before, at that time. `site` tells the place in the program apart from others: its format string. */
#define LOG_MESSAGE_MAX 2048
void log_message(enum log_level level, int64_t time_ms, const struct log_ids *ids, const char *site, const char *message);

/* Whether an error or a warning has been logged yet. */
bool log_troubled(void);

#define log_error(...) log_line(LOG_LEVEL_ERROR, 0, __VA_ARGS__)
#define log_warn(...) log_line(LOG_LEVEL_WARN, 0, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, 0, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, 0, __VA_ARGS__)
/* The same about something: log_warn_of(LOG_JOB(7, name), "job %s waits", name). */
#define log_error_of(ids, ...) log_line(LOG_LEVEL_ERROR, ids, __VA_ARGS__)
#define log_warn_of(ids, ...) log_line(LOG_LEVEL_WARN, ids, __VA_ARGS__)
#define log_info_of(ids, ...) log_line(LOG_LEVEL_INFO, ids, __VA_ARGS__)

/* For a program that runs for long: send lines elsewhere, and leave repetitions out (not at level debug). `to` is
 * "stderr", "syslog", "syslog:SOCKET" or a file's absolute path; the file is made with mode 0600. Codes: "log_unusable". */
int log_open(const char *to, enum log_format format, struct error *err);
bool log_to_valid(const char *to);
void log_reopen(void); /* the file was moved away (log rotation): begin a new one */
void log_settle(void); /* say what was left out, where its time is over: call it every now and then */
void log_close(void);  /* say all that was left out; lines go to stderr again */
#endif
