#include "common/timefmt.h"

#include <stdio.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;

    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t time_now_ms(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t time_monotonic_ms(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double time_now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    return (double)ts.tv_sec + (double)(ts.tv_nsec / 1000) / 1e6;
}

char *timefmt_iso(char buf[TIMEFMT_SIZE], int64_t ms)
{
    time_t sec = (time_t)(ms / 1000);
    struct tm tm;
    char date[24];

    gmtime_r(&sec, &tm);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(buf, TIMEFMT_SIZE, "%s.%03dZ", date, (int)(ms % 1000));
    return buf;
}
