#include "tasks/runner/metric_file.h"

#include "common/xalloc.h"
#include "tasks/runner/metric_rotated.h"
#include "tasks/runner/pattern.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 65536

static const char bom[] = "\xef\xbb\xbf";

void metric_file_init(struct metric_file *file, const char *dir, const char *name, bool may_be_csv)
{
    *file = (struct metric_file){.name = name, .may_be_csv = may_be_csv, .again = -1};
    file->is_pattern = may_be_csv && pattern_is(name);
    file->path = file->is_pattern ? pattern_below(dir, name) : xasprintf("%s/%s", dir, name);
}

void metric_file_fini(struct metric_file *file)
{
    free(file->path);
    free(file->now);
    free(file->head);
    free(file->columns);
    free(file->comment);
    free(file->rest);
    free(file->known);
}

static void metric_file_complain(struct metric_file *file, const char *why)
{
    if (file->wrong++ == 0)
        snprintf(file->first_wrong, sizeof file->first_wrong, "line %lld: %s", (long long)file->lines, why);
}

/* Notes a comment, which may turn out to name the columns. */
static void note_comment(struct metric_file *file, const char *line)
{
    free(file->comment);
    file->comment = xstrdup(line + strspn(line, "# \t"));
}

/* Decides by the first line that is no comment what the file is. Returns whether the line is taken thereby. If a
 * line that begins with a number follows a comment, the comment names the columns, as numpy.savetxt() writes them. */
static bool metric_file_take_first(struct metric_file *file, const char *line, size_t size)
{
    const char *why;

    if (!file->may_be_csv || line[strspn(line, " \t")] == '{') {
        file->format = METRIC_FILE_JSON;
        return false;
    }
    if (line[strspn(line, " \t")] == '#') {
        note_comment(file, line + strspn(line, " \t"));
        return true;
    }
    if (file->columns == NULL)
        file->columns = xcalloc(1, sizeof *file->columns);
    file->format = METRIC_FILE_CSV;
    if (metric_columns_read(line, size, file->columns, &why) == 0)
        return true;
    if (file->comment != NULL && metric_columns_read(file->comment, strlen(file->comment), file->columns, &why) == 0)
        return false;
    file->format = METRIC_FILE_WRONG;
    metric_file_complain(file, why);
    return true;
}

static bool line_is_blank(const char *line, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    return true;
}

/* FNV-1a */
static uint64_t hash_of(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

/* Returns a hash of a line's values, in any order. */
static uint64_t hash_of_line(const struct metric_line *line)
{
    const uint64_t begin = UINT64_C(14695981039346656037);
    uint64_t hash = hash_of(begin, &line->time, sizeof line->time);

    if (line->has_step)
        hash = hash_of(hash, &line->step, sizeof line->step);
    for (size_t i = 0; i < line->n; i++)
        hash += hash_of(hash_of(begin, line->values[i].name, strlen(line->values[i].name)), &line->values[i].value,
                        sizeof line->values[i].value);
    return hash;
}

/* Returns whether the line was taken before the file was rewritten. */
static bool was_taken(struct metric_file *file, uint64_t hash)
{
    if (file->again < 0)
        return false;
    if (file->again < file->taken && (file->again >= METRIC_KNOWN_MAX || file->known[file->again] == hash)) {
        file->again++;
        return true;
    }
    file->differs = file->differs || file->again < file->taken;
    file->taken = file->again;
    file->again = -1;
    return false;
}

static void take_values(struct metric_file *file, const struct metric_line *line,
                        void (*each)(void *arg, const struct metric_line *line), void *arg)
{
    uint64_t hash = hash_of_line(line);

    if (was_taken(file, hash))
        return;
    if (file->known == NULL)
        file->known = xcalloc(METRIC_KNOWN_MAX, sizeof *file->known);
    if (file->taken < METRIC_KNOWN_MAX)
        file->known[file->taken] = hash;
    file->taken++;
    each(arg, line);
}

/* Reads a row of columns. Returns 1 if it has none, since it is a comment or names the columns once more. */
static int metric_file_row(struct metric_file *file, const char *text, size_t size, struct metric_line *line,
                           const char **why)
{
    if (text[strspn(text, " \t")] == '#')
        return 1;
    if (metric_line_csv(text, size, file->columns, line, why) == 0 && (line->n > 0 || line->has_step))
        return 0;
    if (metric_columns_again(text, size, file->columns))
        return metric_columns_read(text, size, file->columns, why) < 0 ? -1 : 1;
    return *why != NULL ? -1 : 0;
}

/* Takes the line in `rest`, which has room for a NUL behind it. */
static void metric_file_take_line(struct metric_file *file, void (*each)(void *arg, const struct metric_line *line),
                                  void *arg)
{
    const char *why = NULL, *text = file->rest;
    size_t size = file->n_rest;
    struct metric_line line;
    int rc;

    file->rest[size] = '\0';
    file->lines++;
    file->n_rest = 0;
    if (file->too_long) {
        file->too_long = false;
        metric_file_complain(file, "it has more than 64 KiB");
        return;
    }
    if (file->lines == 1 && strncmp(text, bom, strlen(bom)) == 0) {
        text += strlen(bom);
        size -= strlen(bom);
    }
    if (line_is_blank(text, size) || (file->format == METRIC_FILE_NEW && metric_file_take_first(file, text, size)) ||
        file->format == METRIC_FILE_WRONG)
        return;
    rc = file->format == METRIC_FILE_JSON ? metric_line_json(text, size, &line, &why)
                                          : metric_file_row(file, text, size, &line, &why);
    if (rc < 0)
        metric_file_complain(file, why);
    else if (rc == 0)
        take_values(file, &line, each, arg);
}

static void metric_file_take(struct metric_file *file, const char *data, size_t size,
                             void (*each)(void *arg, const struct metric_line *line), void *arg)
{
    while (size > 0) {
        const char *end = memchr(data, '\n', size);
        size_t n = end != NULL ? (size_t)(end - data) : size;

        if (file->n_rest + n >= METRIC_LINE_MAX) {
            file->too_long = true;
            file->n_rest = 0;
        }
        if (!file->too_long) {
            memcpy(file->rest + file->n_rest, data, n);
            file->n_rest += n;
        }
        if (end == NULL)
            return;
        metric_file_take_line(file, each, arg);
        data = end + 1;
        size -= n + 1;
    }
}

/* Begins at the first byte of a file. If `same` is true, its lines are compared with those that were taken before. */
static void metric_file_begin(struct metric_file *file, bool same)
{
    file->offset = file->lines = 0;
    file->n_rest = file->n_head = 0;
    file->too_long = false;
    file->format = METRIC_FILE_NEW;
    free(file->comment);
    file->comment = NULL;
    if (!same)
        file->taken = 0;
    file->again = same && file->taken > 0 ? 0 : -1;
}

/* Goes on to another file, whose path is taken over. */
static void go_to(struct metric_file *file, char *path, const struct stat *st, bool same)
{
    free(file->now);
    file->now = path;
    file->dev = st->st_dev;
    file->inode = st->st_ino;
    file->changed = (struct timespec){0};
    metric_file_begin(file, same);
}

static bool is_now(const struct metric_file *file, const char *path, struct stat *st)
{
    return path != NULL && stat(path, st) == 0 && S_ISREG(st->st_mode) && st->st_dev == file->dev &&
           st->st_ino == file->inode;
}

/* Finds the file that is being read, under its path or the one that it was renamed to. Returns whether it is there. */
static bool find_now(struct metric_file *file, struct stat *st)
{
    char *found;

    if (file->now == NULL || is_now(file, file->now, st))
        return file->now != NULL;
    found = metric_rotated_find(file->now, file->dev, file->inode);
    if (found == NULL)
        return false;
    free(file->now);
    file->now = found;
    return stat(found, st) == 0;
}

/* Returns whether the file begins with other bytes than it did. */
static bool begins_otherwise(const struct metric_file *file, int fd)
{
    char head[METRIC_HEAD_MAX];
    ssize_t n = file->n_head > 0 ? pread(fd, head, file->n_head, 0) : 0;

    return n >= 0 && ((size_t)n < file->n_head || (n > 0 && memcmp(head, file->head, file->n_head) != 0));
}

static void keep_head(struct metric_file *file, const char *data, size_t size)
{
    size_t n = METRIC_HEAD_MAX - file->n_head < size ? METRIC_HEAD_MAX - file->n_head : size;

    if (file->head == NULL)
        file->head = xcalloc(METRIC_HEAD_MAX, 1);
    if (file->offset != (int64_t)file->n_head || n == 0)
        return;
    memcpy(file->head + file->n_head, data, n);
    file->n_head += n;
}

/* Reads on in the file that was found. Returns how many bytes there were. */
static int64_t metric_file_read_on(struct metric_file *file, const struct stat *st, int64_t limit,
                                   void (*each)(void *arg, const struct metric_line *line), void *arg)
{
    bool changed = st->st_mtim.tv_sec != file->changed.tv_sec || st->st_mtim.tv_nsec != file->changed.tv_nsec;
    int64_t sum = 0;
    char chunk[CHUNK];
    ssize_t n;
    int fd;

    if ((!changed && st->st_size == file->offset) || (fd = open(file->now, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
        return 0;
    if (file->rest == NULL)
        file->rest = xcalloc(METRIC_LINE_MAX + 1, 1);
    if (st->st_size < file->offset)
        metric_file_begin(file, true);
    do {
        n = pread(fd, chunk, sizeof chunk, file->offset);
        if (begins_otherwise(file, fd)) { /* only now, since it may be rewritten at any time */
            metric_file_begin(file, true);
            n = pread(fd, chunk, sizeof chunk, 0);
        }
        if (n > 0) {
            keep_head(file, chunk, (size_t)n);
            file->offset += n;
            sum += n;
            metric_file_take(file, chunk, (size_t)n, each, arg);
        }
    } while (n > 0 && sum < limit);
    if (n <= 0)
        file->changed = st->st_mtim;
    close(fd);
    return sum;
}

/* Goes on to the file that comes after the one that was found and read to its end, or that is gone. Returns whether
 * there is one. */
static bool metric_file_go_on(struct metric_file *file, const struct stat *last, bool found,
                              void (*each)(void *arg, const struct metric_line *line), void *arg)
{
    char *target = file->is_pattern ? pattern_last(file->path) : xstrdup(file->path), *between = NULL;
    struct stat st;

    if (target == NULL || stat(target, &st) < 0 || !S_ISREG(st.st_mode) ||
        (file->now != NULL && found && st.st_dev == file->dev && st.st_ino == file->inode)) {
        free(target);
        return false;
    }
    if (found && !file->is_pattern)
        between = metric_rotated_next(file->path, last);
    if (between != NULL && stat(between, &st) == 0) {
        free(target);
        target = between;
    } else {
        free(between);
    }
    if (found && (file->n_rest > 0 || file->too_long))
        metric_file_take_line(file, each, arg);
    go_to(file, target, &st, file->now != NULL && !found);
    return true;
}

int64_t metric_file_read(struct metric_file *file, int64_t limit, bool ended,
                         void (*each)(void *arg, const struct metric_line *line), void *arg)
{
    int64_t sum = 0, n;
    struct stat st;
    bool found;

    do {
        found = find_now(file, &st);
        n = found ? metric_file_read_on(file, &st, limit - sum, each, arg) : 0;
        sum += n;
        if (n > 0)
            continue;
        if (!metric_file_go_on(file, &st, found, each, arg))
            break;
        n = 1;
    } while (sum < limit);
    if (sum == 0 && ended && file->rest != NULL && (file->n_rest > 0 || file->too_long))
        metric_file_take_line(file, each, arg);
    return sum;
}
