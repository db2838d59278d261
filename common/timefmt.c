#include "common/timefmt.h"

#include <stdio.h>
#include <time.h>

#define SECONDS_MAX 1e11

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

int64_t time_ms_of(double seconds)
{
    return seconds >= 0 && seconds <= SECONDS_MAX ? (int64_t)(seconds * 1000 + 0.5) : 0;
}

char *timefmt_iso(char buf[TIMEFMT_SIZE], int64_t ms)
{
    int64_t first = INT64_C(-62167219200000), last = INT64_C(253402300799999);
    int64_t within = ms < first ? first : ms > last ? last : ms;
    int fraction = (int)((within % 1000 + 1000) % 1000);
    time_t sec = (time_t)((within - fraction) / 1000);
    char rest[20];
    struct tm tm;

    gmtime_r(&sec, &tm);
    strftime(rest, sizeof rest, "-%m-%dT%H:%M:%S", &tm);
    snprintf(buf, TIMEFMT_SIZE, "%04u%s.%03dZ", (unsigned)(tm.tm_year + 1900) % 10000, rest, fraction);
    return buf;
}
