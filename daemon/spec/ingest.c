#include "daemon/spec/ingest.h"

#include "common/jsonx.h"
#include "common/xalloc.h"
#include "daemon/spec/csv.h"
#include "daemon/spec/npz.h"
#include "daemon/spec/number.h"
#include "daemon/spec/params.h"
#include "daemon/spec/value.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CODE "spec_parameter_file"

struct ingest {
    struct source source;
    struct rows_writer *out;
    char *names[ROWS_COLUMNS_MAX]; /* in the order of the first line */
    size_t n;
    int64_t empty_line; /* the number of an empty line that was read; 0 for none */
    const atomic_bool *stop;
};

static int add_column(struct ingest *in, const char *name, int64_t line, struct error *err)
{
    struct error why;

    if (in->n == ROWS_COLUMNS_MAX)
        return source_refuse(line, err, "more than %d columns", ROWS_COLUMNS_MAX);
    for (size_t i = 0; i < in->n; i++)
        if (strcmp(in->names[i], name) == 0)
            return source_refuse(line, err, "two columns are named \"%.63s\"", name);
    if (params_check_name(name, "", &why) < 0)
        return source_refuse(line, err, "column %zu, \"%.63s\": %.300s", in->n + 1, name, why.text);
    in->names[in->n++] = xstrdup(name);
    return 0;
}

/* Refuses an empty line before a row. At the end of a file empty lines do no harm, but elsewhere a row may be
 * missing. */
static int check_empty(const struct ingest *in, struct error *err)
{
    return in->empty_line == 0 ? 0 : source_refuse(in->empty_line, err, "an empty line between rows");
}

static int check_stop(const struct ingest *in, struct error *err)
{
    return in->stop != NULL && atomic_load(in->stop) ? error_set(err, "not_ready", "the daemon is ending") : 0;
}

/* Returns a field that is a list or an object in JSON, or NULL. */
static json_t *csv_structure(const char *text)
{
    return text[0] == '[' || text[0] == '{' ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
}

static json_t *csv_value(const struct csv *csv, size_t i, struct error *err)
{
    const char *text = csv_field(csv, i);
    json_t *value = NULL;

    if (!csv->fields[i].quoted && number_parse(text, &value)) {
        if (value == NULL)
            source_refuse(csv->line, err, "field %zu: \"%.40s\" %s", i + 1, text, number_excess(text));
        return value;
    }
    value = csv_structure(text);
    if (value == NULL)
        value = json_string(text);
    if (value == NULL)
        source_refuse(csv->line, err, "field %zu is not UTF-8", i + 1);
    return value;
}

static int check_line_value(const json_t *value, const char *name, int64_t line, struct error *err)
{
    struct error why;
    char place[256];

    if (value_check(value, jsonx_pointer(place, sizeof place, "", name), &why) == 0)
        return 0;
    return source_refuse(line, err, "%.200s, at %.100s", why.text, why.pointer);
}

static int add_csv_row(struct ingest *in, const struct csv *csv, struct error *err)
{
    json_t *row, *value;
    int rc = 0;

    if (csv->n != in->n)
        return source_refuse(csv->line, err, "%zu field%s, where the header has %zu", csv->n, csv->n == 1 ? "" : "s",
                             in->n);
    row = json_object();
    for (size_t i = 0; i < csv->n && rc == 0; i++) {
        value = csv_value(csv, i, err);
        rc = value == NULL || check_line_value(value, in->names[i], csv->line, err) < 0 ? -1 : 0;
        if (rc == 0)
            json_object_set(row, in->names[i], value);
        json_decref(value);
    }
    if (rc == 0)
        rc = rows_writer_add(in->out, row, csv->line, err);
    json_decref(row);
    return rc;
}

static int read_csv(struct ingest *in, struct error *err)
{
    struct csv csv;
    int rc;

    csv_init(&csv, &in->source);
    rc = csv_next(&csv, err);
    if (rc == 1 && csv.blank)
        rc = source_refuse(1, err, "the header is empty");
    for (size_t i = 0; rc == 1 && i < csv.n; i++)
        if (add_column(in, csv_field(&csv, i), 1, err) < 0)
            rc = -1;
    while (rc == 1 && (rc = csv_next(&csv, err)) == 1) {
        if (csv.blank)
            in->empty_line = in->empty_line ? in->empty_line : csv.line;
        else if (check_stop(in, err) < 0 || check_empty(in, err) < 0 || add_csv_row(in, &csv, err) < 0)
            rc = -1;
    }
    csv_fini(&csv);
    return rc;
}

/* Returns the object of a line with its keys in the order of the first line, since some writers of JSON order keys by
 * chance. */
static json_t *order_keys(const struct ingest *in, const json_t *object, int64_t line, struct error *err)
{
    json_t *row = json_object(), *value;

    for (size_t i = 0; i < in->n; i++) {
        value = json_object_get(object, in->names[i]);
        if (value == NULL) {
            source_refuse(line, err, "\"%s\" is missing, which the first line has", in->names[i]);
            goto fail;
        }
        if (check_line_value(value, in->names[i], line, err) < 0)
            goto fail;
        json_object_set(row, in->names[i], value);
    }
    if (json_object_size(object) == in->n)
        return row;
    source_refuse(line, err, "%zu keys, where the first line has %zu", json_object_size(object), in->n);
fail:
    json_decref(row);
    return NULL;
}

static int add_json_row(struct ingest *in, const char *text, size_t size, int64_t line, struct error *err)
{
    json_error_t where;
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &where), *row = NULL, *value;
    const char *name;
    int rc = -1;

    if (object == NULL)
        return source_refuse(line, err, "column %d: %s", where.column, where.text);
    if (!json_is_object(object) || json_object_size(object) == 0) {
        source_refuse(line, err, "a row is an object with at least one key, not %s", jsonx_type_name(object));
        goto end;
    }
    if (in->n == 0)
        json_object_foreach (object, name, value)
            if (add_column(in, name, line, err) < 0)
                goto end;
    row = order_keys(in, object, line, err);
    if (row != NULL)
        rc = rows_writer_add(in->out, row, line, err);
end:
    json_decref(row);
    json_decref(object);
    return rc;
}

static bool is_blank_line(const char *text, size_t size)
{
    size_t i = 0;

    while (i < size && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r'))
        i++;
    return i == size;
}

static int read_json_lines(struct ingest *in, struct error *err)
{
    char *text = xcalloc(1, SOURCE_RECORD_MAX);
    int c = 0, rc = 0;

    while (rc == 0 && c != EOF) {
        int64_t line = in->source.line;
        size_t size = 0;

        while ((c = source_get(&in->source)) != '\n' && c != EOF && size < SOURCE_RECORD_MAX)
            text[size++] = (char)c;
        if (c == EOF && source_check(&in->source, err) < 0)
            rc = -1;
        else if (c != '\n' && c != EOF)
            rc = source_refuse(line, err, "a line of more than %zu bytes", SOURCE_RECORD_MAX);
        else if (is_blank_line(text, size))
            in->empty_line = in->empty_line || c == EOF ? in->empty_line : line;
        else if (check_stop(in, err) < 0 || check_empty(in, err) < 0 || add_json_row(in, text, size, line, err) < 0)
            rc = -1;
    }
    free(text);
    return rc;
}

static int add_array_column(void *arg, const char *name, struct error *err)
{
    return add_column(arg, name, 0, err);
}

static int add_array_row(void *arg, const json_t *row, int64_t number, struct error *err)
{
    struct ingest *in = arg;
    char text[sizeof err->text];

    if (check_stop(in, err) < 0)
        return -1;
    if (rows_writer_size(in->out) > SOURCE_MAX) /* a small archive can hold very many values */
        return error_set(err, CODE, "its rows have more than %lld bytes as JSON", (long long)SOURCE_MAX);
    if (rows_writer_add(in->out, row, 0, err) == 0)
        return 0;
    memcpy(text, err->text, sizeof text);
    return strcmp(err->code, CODE) == 0 ? error_set(err, CODE, "row %lld: %.400s", (long long)number, text) : -1;
}

static bool has_suffix(const char *path, const char *suffix)
{
    size_t size = strlen(path), tail = strlen(suffix);

    return size > tail && strcmp(path + size - tail, suffix) == 0;
}

bool ingest_knows(const char *path)
{
    return has_suffix(path, ".csv") || has_suffix(path, ".jsonl") || has_suffix(path, ".ndjson") ||
           has_suffix(path, ".npz");
}

/* Opens a regular file without waiting: a FIFO may have no writer yet, and a device may never answer. */
static FILE *open_regular(const char *path, struct error *err)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        error_errno(err, CODE, "it cannot be opened");
    else if (!S_ISREG(st.st_mode))
        error_set(err, CODE, "it is %s", S_ISDIR(st.st_mode) ? "a directory" : "no regular file");
    else if (st.st_size > SOURCE_MAX)
        error_set(err, CODE, "it has more than %lld bytes", (long long)SOURCE_MAX);
    else
        return fdopen(fd, "r");
    if (fd >= 0)
        close(fd);
    return NULL;
}

static int read_parameter_file(struct ingest *in, const char *path, FILE *file, struct error *err)
{
    if (has_suffix(path, ".npz"))
        return npz_read(path, fileno(file), add_array_column, add_array_row, in, err);
    source_init(&in->source, file);
    return has_suffix(path, ".csv") ? read_csv(in, err) : read_json_lines(in, err);
}

static void name_the_file(const char *path, struct error *err)
{
    char text[sizeof err->text];

    memcpy(text, err->text, sizeof text);
    if (strcmp(err->code, CODE) == 0)
        error_at(err, CODE, "/members/parameters/file", "%.200s: %.500s", path, text);
}

struct rows *ingest_file(const char *path, const char *dir, const char *name, const atomic_bool *stop,
                         struct error *err)
{
    struct ingest in = {.stop = stop};
    struct rows *rows = NULL;
    FILE *file = open_regular(path, err);

    if (file == NULL)
        goto end;
    in.out = rows_writer_create(dir, name, err);
    if (in.out == NULL)
        goto end;
    if (read_parameter_file(&in, path, file, err) < 0)
        rows_writer_abandon(in.out);
    else if (rows_writer_count(in.out) == 0) {
        error_set(err, CODE, "there is no row in it");
        rows_writer_abandon(in.out);
    } else {
        rows = rows_writer_finish(in.out, err);
    }
end:
    if (rows == NULL)
        name_the_file(path, err);
    if (file != NULL)
        fclose(file);
    while (in.n > 0)
        free(in.names[--in.n]);
    return rows;
}
