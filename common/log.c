#include "common/log.h"

#include "common/log_limit.h"
#include "common/log_sink.h"
#include "common/timefmt.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The log of this program. */
static struct {
    pthread_mutex_t lock;
    const char *program;
    enum log_level level;
    enum log_format format;
    enum log_frame frame;
    bool limited, troubled;
    struct log_sink sink;
    struct log_limit limit;
} the = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .program = "stretto",
    .level = LOG_LEVEL_INFO,
    .sink = {.kind = LOG_SINK_STDERR, .fd = STDERR_FILENO},
};

void log_init(const char *program, enum log_level level)
{
    the.program = program;
    the.level = level;
}

static void write_message(enum log_level level, int64_t time_ms, const struct log_ids *ids, const char *message)
{
    struct log_record record = {level, time_ms, the.program, (int)getpid(), ids, message};
    char line[LOG_LINE_MAX];
    size_t n = log_format(line, &record, the.format, the.frame);

    log_sink_write(&the.sink, line, n, time_monotonic_ms());
}

/* Logs how many lines were lost before this one. */
static void tell_losses(void)
{
    uint64_t lost = the.sink.lost;
    char message[96];

    if (lost == 0)
        return;
    snprintf(message, sizeof message, "%llu line%s of this log could not be written", (unsigned long long)lost,
             lost == 1 ? "" : "s");
    write_message(LOG_LEVEL_WARN, time_now_ms(), NULL, message);
    if (the.sink.lost > 0)
        the.sink.lost = lost; /* this message did not get out either, and is not counted itself */
}

static void tell_left_out(bool all)
{
    char message[LOG_LIMIT_SAMPLE + 96];
    struct log_limit_slot slot;

    for (;;) {
        log_limit_take(&the.limit, time_monotonic_ms(), all, &slot);
        if (slot.key == 0)
            return;
        snprintf(message, sizeof message, "%u more line%s like this %s left out: %s", slot.silent,
                 slot.silent == 1 ? "" : "s", slot.silent == 1 ? "was" : "were", slot.sample);
        write_message(slot.level, time_now_ms(), NULL, message);
    }
}

void log_line(enum log_level level, const struct log_ids *ids, const char *fmt, ...)
{
    char message[LOG_MESSAGE_MAX];
    int saved = errno;
    va_list ap;

    if (level > the.level)
        return;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    log_message(level, time_now_ms(), ids, fmt, message);
    errno = saved;
}

void log_message(enum log_level level, int64_t time_ms, const struct log_ids *ids, const char *site,
                 const char *message)
{
    if (level > the.level)
        return;
    pthread_mutex_lock(&the.lock);
    the.troubled = the.troubled || level <= LOG_LEVEL_WARN;
    tell_losses();
    if (!the.limited || log_limit_pass(&the.limit, site, level, message, time_monotonic_ms()))
        write_message(level, time_ms, ids, message);
    pthread_mutex_unlock(&the.lock);
}

bool log_troubled(void)
{
    bool troubled;

    pthread_mutex_lock(&the.lock);
    troubled = the.troubled;
    pthread_mutex_unlock(&the.lock);
    return troubled;
}

bool log_to_valid(const char *to)
{
    return strcmp(to, "stderr") == 0 || strcmp(to, "syslog") == 0 || strncmp(to, "syslog:/", 8) == 0 ||
           (to[0] == '/' && strlen(to) < sizeof the.sink.path);
}

int log_open(const char *to, enum log_format format, struct error *err)
{
    struct log_sink sink;

    if (!log_to_valid(to))
        return error_set(err, "log_unusable", "\"%.100s\" is neither stderr nor syslog nor an absolute path", to);
    if (log_sink_open(&sink, to, err) < 0)
        return -1;
    pthread_mutex_lock(&the.lock);
    log_sink_close(&the.sink);
    the.sink = sink;
    the.format = format;
    the.frame = log_sink_frame(&sink);
    the.limited = the.level < LOG_LEVEL_DEBUG;
    pthread_mutex_unlock(&the.lock);
    return 0;
}

void log_reopen(void)
{
    struct error err;
    int rc;

    pthread_mutex_lock(&the.lock);
    rc = log_sink_reopen(&the.sink, &err);
    pthread_mutex_unlock(&the.lock);
    if (rc < 0)
        log_error("%s; the log goes on where it was", err.text);
}

void log_settle(void)
{
    pthread_mutex_lock(&the.lock);
    tell_losses();
    tell_left_out(false);
    pthread_mutex_unlock(&the.lock);
}

void log_close(void)
{
    pthread_mutex_lock(&the.lock);
    tell_losses();
    tell_left_out(true);
    log_sink_close(&the.sink);
    the.format = LOG_TEXT;
    the.frame = LOG_PLAIN;
    the.limited = false;
    pthread_mutex_unlock(&the.lock);
}
