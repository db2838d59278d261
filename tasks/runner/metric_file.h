/* A file to which a program appends lines of metrics. It is read on as it grows.
 *
 * - If it was renamed and begun again, as logs are rotated, its rest is read first, and then files between the two.
 * - If it was rewritten, in place or by a rename, with the same lines first, it is read on behind those. Loggers of CSV
 *   rewrite a file when a column comes.
 * - If other lines are in their place, these are taken: points of the same steps are replaced. */
#ifndef TASKS_RUNNER_METRIC_FILE_H
#define TASKS_RUNNER_METRIC_FILE_H
#include "tasks/runner/metric_csv.h"

#include <sys/types.h>
#include <time.h>

#define METRIC_HEAD_MAX 4096  /* bytes at the beginning by which a file is known again */
#define METRIC_KNOWN_MAX 4096 /* lines that are compared if a file was rewritten */

struct metric_file {
    char *path;
    bool is_pattern;  /* the path is one, of which the last match is read */
    const char *name; /* for people */
    bool may_be_csv;  /* its first line says whether it is */
    /* the file that is being read */
    char *now; /* its path; NULL: there was none yet */
    dev_t dev;
    ino_t inode;
    struct timespec changed; /* at the last look */
    int64_t offset;
    size_t n_head;
    char *head; /* its first bytes; NULL: nothing was read yet */
    enum { METRIC_FILE_NEW, METRIC_FILE_JSON, METRIC_FILE_CSV, METRIC_FILE_WRONG } format;
    struct metric_columns *columns; /* of CSV */
    char *comment;                  /* the last comment above its first line; NULL for none */
    int64_t lines;                  /* so far */
    char *rest; /* the beginning of a line, METRIC_LINE_MAX bytes of room; NULL: none was read yet */
    size_t n_rest;
    bool too_long; /* what is read belongs to a line that is passed over */
    /* the lines that were taken of it */
    uint64_t *known; /* what the first METRIC_KNOWN_MAX of them say; NULL: none was taken yet */
    int64_t taken;
    int64_t again; /* of a file that was rewritten: so many lines were the same so far; -1: they are compared no more */
    bool differs;  /* other lines were in their place */
    int64_t wrong; /* lines of all files */
    char first_wrong[200];
};

/* Begins with a file, or files that match a pattern, below a directory. `name` is kept by the caller. */
void metric_file_init(struct metric_file *file, const char *dir, const char *name, bool may_be_csv);
void metric_file_fini(struct metric_file *file);

/* Reads new bytes, about `limit` of them at most, and calls each() with every line. If `ended` is true, a last line
 * without a newline counts, too. Returns how many bytes there were. */
int64_t metric_file_read(struct metric_file *file, int64_t limit, bool ended,
                         void (*each)(void *arg, const struct metric_line *line), void *arg);
#endif
