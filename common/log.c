#include "common/log.h"

#include "common/timefmt.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static const char *log_program = "stretto";
static enum log_level log_max = LOG_LEVEL_INFO;

void log_init(const char *program, enum log_level level)
{
    log_program = program;
    log_max = level;
}

void log_line(enum log_level level, const char *fmt, ...)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    char line[2048], when[TIMEFMT_SIZE];
    int saved = errno, n;
    va_list ap;

    if (level > log_max)
        return;
    timefmt_iso(when, time_now_ms());
    n = snprintf(line, sizeof line, "%s %s[%d] %s: ", when, log_program, (int)getpid(), names[level]);
    va_start(ap, fmt);
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    va_end(ap);
    if ((size_t)n > sizeof line - 2)
        n = sizeof line - 2;
    for (int i = 0; i < n; i++)
        if (line[i] == '\n')
            line[i] = ' '; /* one event, one line, whatever a program under us printed */
    line[n++] = '\n';
    /* one write, so that lines of several processes on one file do not mix */
    if (write(STDERR_FILENO, line, (size_t)n) < 0) {
        /* nowhere left to say it */
    }
    errno = saved;
}
