/* Writes the copy of a parameter file (rows.h). Nothing refers to it until its ensemble is committed, so that it is
 * written in place: a crash leaves an orphan, which the next start removes. */
#include "daemon/spec/rows.h"

#include "common/xalloc.h"
#include "daemon/spec/source.h"
#include "daemon/spec/template.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct rows_writer {
    char *dir, *name;
    FILE *data, *index;
    int64_t count, offset;
    struct text scratch;
    json_t *columns, *longest; /* by name: whether the column is numeric, and the bytes of its longest value */
};

#define NUMBER_MAX 24 /* bytes of a number or a boolean, as text */

static int copy_failed(const struct rows_writer *w, struct error *err)
{
    return error_errno(err, errno == ENOSPC || errno == EDQUOT ? "store_full" : "store_io",
                       "the copy of the parameter file, %s/%s.jsonl, cannot be written", w->dir, w->name);
}

static FILE *create_one(const struct rows_writer *w, const char *suffix)
{
    char *path = xasprintf("%s/%s.%s", w->dir, w->name, suffix);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

    free(path);
    return fd >= 0 ? fdopen(fd, "w") : NULL;
}

struct rows_writer *rows_writer_create(const char *dir, const char *name, struct error *err)
{
    struct rows_writer *w = xcalloc(1, sizeof *w);

    w->dir = xstrdup(dir);
    w->name = xstrdup(name);
    w->columns = json_object();
    w->longest = json_object();
    w->data = create_one(w, "jsonl");
    if (w->data != NULL)
        w->index = create_one(w, "index");
    if (w->data != NULL && w->index != NULL)
        return w;
    copy_failed(w, err);
    rows_writer_abandon(w);
    return NULL;
}

static int add_index_entry(struct rows_writer *w, const char *line, size_t size)
{
    struct rows_entry entry = {htole64((uint64_t)w->offset), htole64(rows_digest(w->name, line, size))};

    return fwrite(&entry, sizeof entry, 1, w->index) == 1 ? 0 : -1;
}

static void note_longest_text(struct rows_writer *w, const char *name, size_t size)
{
    json_t *longest = json_object_get(w->longest, name);

    if ((json_int_t)size > json_integer_value(longest))
        json_integer_set(longest, (json_int_t)size);
}

/* Notes which columns are numeric. A column is, until a row has another value in it. */
static void note_columns(struct rows_writer *w, const json_t *row)
{
    const char *name;
    json_t *value;

    json_object_foreach ((json_t *)row, name, value) {
        if (w->count == 0)
            json_object_set_new(w->longest, name, json_integer(NUMBER_MAX));
        if (w->count == 0 || !json_is_number(value))
            json_object_set_new(w->columns, name, json_boolean(json_is_number(value)));
        if (json_string_length(value) > NUMBER_MAX)
            note_longest_text(w, name, json_string_length(value));
        if (json_is_array(value) || json_is_object(value)) {
            w->scratch.size = 0;
            template_put_value(&w->scratch, value);
            note_longest_text(w, name, w->scratch.size);
        }
    }
}

int rows_writer_add(struct rows_writer *w, const json_t *row, int64_t line, struct error *err)
{
    char *text = json_dumps(row, JSON_COMPACT);
    size_t size = text != NULL ? strlen(text) : 0;
    int rc = 0;

    if (w->count == ROWS_MAX)
        rc = source_refuse(line, err, "more than %lld rows", (long long)ROWS_MAX);
    else if (size == 0 || size >= ROWS_BYTES_MAX)
        rc = source_refuse(line, err, "the row has more than %zu bytes", ROWS_BYTES_MAX);
    if (rc == 0 &&
        (add_index_entry(w, text, size) < 0 || fwrite(text, 1, size, w->data) != size || putc('\n', w->data) == EOF))
        rc = copy_failed(w, err);
    free(text);
    if (rc < 0)
        return -1;
    note_columns(w, row);
    w->offset += (int64_t)size + 1;
    w->count++;
    return 0;
}

int64_t rows_writer_count(const struct rows_writer *w)
{
    return w->count;
}

int64_t rows_writer_size(const struct rows_writer *w)
{
    return w->offset;
}

static int flush_rows(FILE *file)
{
    return fflush(file) == 0 && fsync(fileno(file)) == 0 ? 0 : -1;
}

static int flush_dir(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

    if (fd < 0)
        return -1;
    rc = fsync(fd);
    close(fd);
    return rc;
}

static void rows_writer_destroy(struct rows_writer *w)
{
    if (w->data != NULL)
        fclose(w->data);
    if (w->index != NULL)
        fclose(w->index);
    json_decref(w->columns);
    json_decref(w->longest);
    free(w->scratch.data);
    free(w->dir);
    free(w->name);
    free(w);
}

struct rows *rows_writer_finish(struct rows_writer *w, struct error *err)
{
    struct rows *rows = NULL;
    char *columns = json_dumps(w->columns, JSON_COMPACT);

    if (add_index_entry(w, "", 0) < 0 || flush_rows(w->data) < 0 || flush_rows(w->index) < 0 || flush_dir(w->dir) < 0)
        copy_failed(w, err);
    else
        rows = rows_open(w->dir, w->name, columns, w->count, err);
    if (rows != NULL)
        rows_note_longest(rows, w->longest);
    free(columns);
    if (rows == NULL)
        rows_writer_abandon(w);
    else
        rows_writer_destroy(w);
    return rows;
}

void rows_writer_abandon(struct rows_writer *w)
{
    bool made = w->data != NULL;

    if (made) /* otherwise the files of this name belong to another copy */
        rows_remove(w->dir, w->name);
    rows_writer_destroy(w);
}
