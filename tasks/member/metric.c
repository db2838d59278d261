/* Metrics and progress: lines appended to the file that STRETTO_METRICS names. */
#include "tasks/member/stretto.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAME_MAX_BYTES 100
#define LINE 512

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int fd = -1;

/* Opens the file once. Returns 1, 0 if there is none, -1 with errno. Called with the lock. */
static int open_once(void)
{
    const char *path = getenv("STRETTO_METRICS");

    if (fd >= 0)
        return 1;
    if (path == NULL || *path == '\0')
        return 0;
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return fd >= 0 ? 1 : -1;
}

/* Appends a line by one call, so that the lines of several processes do not mix. */
static int append_metric_line(const char *line, size_t size)
{
    int rc;
    ssize_t n;

    pthread_mutex_lock(&lock);
    rc = open_once();
    if (rc == 1) {
        do
            n = write(fd, line, size);
        while (n < 0 && errno == EINTR);
        if (n >= 0 && (size_t)n < size)
            errno = ENOSPC;
        rc = n == (ssize_t)size ? 1 : -1;
    }
    pthread_mutex_unlock(&lock);
    return rc < 0 ? -1 : 0;
}

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Writes a name as JSON; returns its length, or -1 with errno if it is no name. */
static int put_name(char out[2 * NAME_MAX_BYTES + 1], const char *name)
{
    int n = 0;

    if (name == NULL || *name == '\0' || strlen(name) > NAME_MAX_BYTES) {
        errno = EINVAL;
        return -1;
    }
    for (; *name; name++) {
        if ((unsigned char)*name < ' ' || *name == 0x7f) {
            errno = EINVAL;
            return -1;
        }
        if (*name == '"' || *name == '\\')
            out[n++] = '\\';
        out[n++] = *name;
    }
    out[n] = '\0';
    return n;
}

/* Writes a number as JSON, or as one of the words of Python's json module: NaN, Infinity, -Infinity. */
static void put_metric_number(char out[32], double value)
{
    int digits = 15;

    if (isfinite(value))
        do /* the fewest digits that read back as the same number */
            snprintf(out, 32, "%.*g", digits, value);
        while (strtod(out, NULL) != value && digits++ < 17);
    else
        snprintf(out, 32, "%s", isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    for (char *c = out; *c; c++) /* of a locale in which numbers have commas */
        if (*c == ',')
            *c = '.';
}

int stretto_metric(const char *name, int64_t step, double value)
{
    char escaped[2 * NAME_MAX_BYTES + 1], number[32], time[32], line[LINE];

    if (put_name(escaped, name) < 0)
        return -1;
    put_metric_number(number, value);
    put_metric_number(time, now());
    return append_metric_line(line, (size_t)snprintf(line, sizeof line,
                                                     "{\"name\": \"%s\", \"step\": %" PRId64
                                                     ", \"value\": %s, \"time\": %s}\n",
                                                     escaped, step, number, time));
}

int stretto_progress(double done, double total)
{
    double part = total > 0 ? done / total : NAN;
    char number[32], time[32], line[LINE];

    if (!isfinite(part)) {
        errno = EINVAL;
        return -1;
    }
    put_metric_number(number, part < 0 ? 0 : part > 1 ? 1 : part);
    put_metric_number(time, now());
    return append_metric_line(line,
                              (size_t)snprintf(line, sizeof line, "{\"progress\": %s, \"time\": %s}\n", number, time));
}
