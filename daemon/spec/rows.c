#define XXH_INLINE_ALL
#include "daemon/spec/rows.h"

#include "common/log.h"
#include "common/xalloc.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

struct rows {
    char *name, *path;
    bool told; /* that a row cannot be read */
    int data, index;
    int64_t count;
    json_t *columns; /* names, each with true if the column is numeric */
    size_t n;
    const char *names[ROWS_COLUMNS_MAX];
    size_t longest[ROWS_COLUMNS_MAX];
};

static int open_one(const char *dir, const char *name, const char *suffix, int64_t *size, struct error *err)
{
    char *path = xasprintf("%s/%s.%s", dir, name, suffix);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        error_errno(err, "store_io", "the copy of a parameter file, %s, cannot be opened", path);
    else
        *size = st.st_size;
    free(path);
    return fd;
}

uint64_t rows_digest(const char *name, const char *line, size_t size)
{
    return XXH3_64bits_withSeed(line, size, XXH3_64bits(name, strlen(name)));
}

static bool read_offsets(const struct rows *rows, int64_t index, int64_t *from, int64_t *to, uint64_t *digest)
{
    struct rows_entry pair[2];

    if (pread(rows->index, pair, sizeof pair, (off_t)(index * (int64_t)sizeof *pair)) != (ssize_t)sizeof pair)
        return false;
    *from = (int64_t)le64toh(pair[0].offset);
    *to = (int64_t)le64toh(pair[1].offset);
    *digest = le64toh(pair[0].digest);
    return *from >= 0 && *from < *to && *to - *from <= (int64_t)ROWS_BYTES_MAX;
}

static int take_columns(struct rows *rows, const char *columns, struct error *err)
{
    const char *name;
    json_t *numeric;

    rows->columns = json_loads(columns, 0, NULL);
    if (json_object_size(rows->columns) == 0 || json_object_size(rows->columns) > ROWS_COLUMNS_MAX)
        return error_set(err, "store_io", "the columns of a parameter file are damaged");
    json_object_foreach (rows->columns, name, numeric)
        rows->names[rows->n++] = name;
    return 0;
}

struct rows *rows_open(const char *dir, const char *name, const char *columns, int64_t count, struct error *err)
{
    struct rows *rows = xcalloc(1, sizeof *rows);
    int64_t data_size = 0, index_size = 0, from, to;
    uint64_t digest;

    rows->name = xstrdup(name);
    rows->path = xasprintf("%s/%s.jsonl", dir, name);
    rows->count = count;
    rows->index = -1;
    rows->data = open_one(dir, name, "jsonl", &data_size, err);
    if (rows->data < 0)
        goto fail;
    rows->index = open_one(dir, name, "index", &index_size, err);
    if (rows->index < 0 || take_columns(rows, columns, err) < 0)
        goto fail;
    if (count < 1 || count > index_size || index_size != (count + 1) * (int64_t)sizeof(struct rows_entry) ||
        !read_offsets(rows, count - 1, &from, &to, &digest) || to != data_size) {
        error_set(err, "store_io", "the copy of a parameter file, %s, is not what it was when it was made", rows->path);
        goto fail;
    }
    return rows;
fail:
    rows_close(rows);
    return NULL;
}

void rows_close(struct rows *rows)
{
    int saved = errno;

    if (rows == NULL)
        return;
    if (rows->data >= 0)
        close(rows->data);
    if (rows->index >= 0)
        close(rows->index);
    json_decref(rows->columns);
    free(rows->name);
    free(rows->path);
    free(rows);
    errno = saved;
}

void rows_remove(const char *dir, const char *name)
{
    static const char *const suffixes[] = {"jsonl", "index"};

    for (size_t i = 0; i < 2; i++) {
        char *path = xasprintf("%s/%s.%s", dir, name, suffixes[i]);

        if (unlink(path) < 0 && errno != ENOENT)
            log_warn("%s cannot be removed: %s", path, strerror(errno));
        free(path);
    }
}

const char *rows_name(const struct rows *rows)
{
    return rows->name;
}

const char *rows_path(const struct rows *rows)
{
    return rows->path;
}

int64_t rows_count(const struct rows *rows)
{
    return rows->count;
}

size_t rows_columns(const struct rows *rows)
{
    return rows->n;
}

const char *rows_column(const struct rows *rows, size_t i)
{
    return rows->names[i];
}

bool rows_is_numeric(const struct rows *rows, size_t i)
{
    return json_is_true(json_object_get(rows->columns, rows->names[i]));
}

size_t rows_longest(const struct rows *rows, size_t i)
{
    return rows->longest[i];
}

void rows_note_longest(struct rows *rows, const json_t *longest)
{
    for (size_t i = 0; i < rows->n; i++)
        rows->longest[i] = (size_t)json_integer_value(json_object_get(longest, rows->names[i]));
}

char *rows_columns_text(const struct rows *rows)
{
    return json_dumps(rows->columns, JSON_COMPACT);
}

json_t *rows_at(struct rows *rows, int64_t index)
{
    json_t *row = NULL;
    int64_t from, to;
    uint64_t digest;
    char *text;

    if (index >= 0 && index < rows->count && read_offsets(rows, index, &from, &to, &digest)) {
        text = xcalloc(1, (size_t)(to - from));
        if (pread(rows->data, text, (size_t)(to - from), (off_t)from) == (ssize_t)(to - from) &&
            rows_digest(rows->name, text, (size_t)(to - from) - 1) == digest)
            row = json_loadb(text, (size_t)(to - from), 0, NULL);
        free(text);
    }
    if (row == NULL && !rows->told)
        log_error(
            "row %lld of the copy of a parameter file, %s, cannot be read, or is not what it was when it was made",
            (long long)index, rows->path);
    rows->told = rows->told || row == NULL;
    return row;
}
