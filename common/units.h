/* Durations ("90s", "10m", "2h", "1d", "1h30m", "01:30:00") and sizes ("512MiB", "2GiB", "4096") as people write
 * them. The batch systems disagree on what a bare number means (minutes for Slurm, seconds for PBS), so a duration
 * without a unit is refused. */
#ifndef COMMON_UNITS_H
#define COMMON_UNITS_H
#include <stdint.h>

/* Reads a duration as milliseconds. Returns 0, or -1 if the text is no duration or one beyond 100 years. */
int duration_parse(const char *text, int64_t *ms);

/* Reads a size as bytes: KiB MiB GiB TiB are powers of 1024, kB MB GB TB of 1000, B or nothing is bytes. Returns 0 or
 * -1. */
int size_parse(const char *text, int64_t *bytes);

/* Reads a file mode creation mask: three octal digits, or four of which the first is 0, that takes nothing from the
 * owner. Returns 0 or -1. */
int umask_parse(const char *text, unsigned *mask);
#endif
