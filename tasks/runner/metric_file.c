#include "tasks/runner/metric_file.h"

#include "common/xalloc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 65536

void metric_file_init(struct metric_file *file, char *path, const char *name, bool may_be_csv)
{
    *file = (struct metric_file){.path = path, .name = name, .may_be_csv = may_be_csv};
}

void metric_file_fini(struct metric_file *file)
{
    free(file->path);
    free(file->columns);
    free(file->rest);
}

static void complain(struct metric_file *file, const char *why)
{
    if (file->wrong++ == 0)
        snprintf(file->first_wrong, sizeof file->first_wrong, "line %lld: %s", (long long)file->lines, why);
}

/* Decides by the first line what the file is. Returns whether the line is a header. */
static bool take_first(struct metric_file *file, const char *line, size_t size)
{
    const char *why;

    if (!file->may_be_csv || line[strspn(line, " \t")] == '{') {
        file->format = METRIC_FILE_JSON;
        return false;
    }
    if (file->columns == NULL)
        file->columns = xcalloc(1, sizeof *file->columns);
    file->format = METRIC_FILE_CSV;
    if (metric_columns_read(line, size, file->columns, &why) < 0) {
        file->format = METRIC_FILE_WRONG;
        complain(file, why);
    }
    return true;
}

static bool is_blank(const char *line, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    return true;
}

/* Takes the line in `rest`, which has room for a NUL behind it. */
static void take_line(struct metric_file *file, void (*each)(void *arg, const struct metric_line *line), void *arg)
{
    const char *why = NULL, *text = file->rest;
    size_t size = file->n_rest;
    struct metric_line line;

    file->rest[size] = '\0';
    file->lines++;
    file->n_rest = 0;
    if (file->too_long) {
        file->too_long = false;
        complain(file, "it has more than 64 KiB");
        return;
    }
    if (is_blank(text, size) || (file->format == METRIC_FILE_NEW && take_first(file, text, size)) ||
        file->format == METRIC_FILE_WRONG)
        return;
    if ((file->format == METRIC_FILE_JSON ? metric_line_json(text, size, &line, &why)
                                          : metric_line_csv(text, size, file->columns, &line, &why)) < 0)
        complain(file, why);
    else
        each(arg, &line);
}

static void take(struct metric_file *file, const char *data, size_t size,
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
        take_line(file, each, arg);
        data = end + 1;
        size -= n + 1;
    }
}

/* Tells whether there is something to read, and from where on. */
static bool look(struct metric_file *file)
{
    struct stat st;

    if (stat(file->path, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    if (st.st_dev != file->dev || st.st_ino != file->inode || st.st_size < file->offset) {
        file->dev = st.st_dev;
        file->inode = st.st_ino;
        file->offset = file->lines = 0;
        file->n_rest = 0;
        file->too_long = false;
        file->format = METRIC_FILE_NEW;
    }
    return st.st_size > file->offset;
}

int64_t metric_file_read(struct metric_file *file, int64_t limit, bool ended,
                         void (*each)(void *arg, const struct metric_line *line), void *arg)
{
    char chunk[CHUNK];
    int64_t begin;
    ssize_t n;
    int fd;

    if (look(file) && (fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) >= 0) {
        if (file->rest == NULL)
            file->rest = xcalloc(METRIC_LINE_MAX + 1, 1);
        begin = file->offset;
        while (file->offset - begin < limit && (n = pread(fd, chunk, sizeof chunk, file->offset)) > 0) {
            file->offset += n;
            take(file, chunk, (size_t)n, each, arg);
        }
        close(fd);
        if (file->offset > begin)
            return file->offset - begin;
    }
    if (ended && file->rest != NULL && (file->n_rest > 0 || file->too_long))
        take_line(file, each, arg);
    return 0;
}
