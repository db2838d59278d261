/* Times are int64_t milliseconds since the Unix epoch inside the daemon, and RFC 3339 in UTC outside. */
#ifndef COMMON_TIMEFMT_H
#define COMMON_TIMEFMT_H
#include <stdint.h>

#define TIMEFMT_SIZE 32

int64_t time_now_ms(void);       /* wall clock */
int64_t time_monotonic_ms(void); /* for measuring durations; the clock of the wall may be set back */
double time_now_s(void);         /* wall clock, in seconds, to the microsecond */

/* Converts a time or a length in seconds, as files of other programs have it, to milliseconds. Returns 0 for a value
 * that is no time: NaN, less than 0, or more than 3,000 years. */
int64_t time_ms_of(double seconds);

/* Writes a time as "2026-01-31T12:00:00.123Z". Returns buf. A time outside of the years 0 to 9999, which only a damaged
 * database has, becomes the nearest one within. */
char *timefmt_iso(char buf[TIMEFMT_SIZE], int64_t ms);
#endif
