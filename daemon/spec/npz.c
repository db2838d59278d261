#include "daemon/spec/npz.h"

#include "common/xalloc.h"
#include "daemon/spec/npy.h"
#include "daemon/spec/pickled.h"
#include "daemon/spec/rows.h"
#include "daemon/spec/source.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#define CODE "spec_parameter_file"
#define ITEMS_MAX ((int64_t)ROWS_BYTES_MAX / 2) /* of a row: each has two bytes of JSON at least */
#define WHOLE_MAX (INT64_C(256) << 20)          /* bytes of arrays that cannot be read row by row */
#define TAIL ((off_t)(22 + 65535 + 20))         /* where the end of an archive's directory can be */

struct column {
    char *name;
    zip_file_t *file;
    struct npy array;
    int64_t items;        /* of a row */
    size_t bytes;         /* of a row */
    unsigned char *whole; /* of an array in Fortran's order; else NULL */
    unsigned char *row;
};

struct npz_archive {
    const char *path;
    zip_t *zip;
    struct column *columns;
    size_t n;
    int64_t rows, bytes, whole; /* bytes of all arrays, and of those that are kept whole */
};

/* Puts the array's name before the error's text. */
static int refuse_array(const struct column *column, struct error *err)
{
    char text[sizeof err->text];

    memcpy(text, err->text, sizeof text);
    return error_set(err, CODE, "array \"%.63s\": %.400s", column->name, text);
}

static int read_bytes(struct column *column, void *out, size_t size, struct error *err)
{
    size_t got = 0;

    while (got < size) {
        zip_int64_t n = zip_fread(column->file, (char *)out + got, size - got);

        if (n < 0)
            return error_set(err, CODE, "it is damaged: %s", zip_error_strerror(zip_file_get_error(column->file)));
        if (n == 0)
            return error_set(err, CODE, "it ends too early");
        got += (size_t)n;
    }
    return 0;
}

/* Adds the sizes of an array to those of all, within limits. */
static int add_array_size(struct npz_archive *archive, struct column *column, struct error *err)
{
    const struct npy *array = &column->array;
    int64_t bytes = (int64_t)array->item, all;

    column->items = 1;
    for (size_t i = 1; i < array->dimensions; i++)
        if (__builtin_mul_overflow(column->items, array->shape[i], &column->items) || column->items > ITEMS_MAX)
            return error_set(err, CODE, "a row has more than %lld items", (long long)ITEMS_MAX);
    bytes *= column->items;
    if (bytes > (int64_t)SOURCE_RECORD_MAX)
        return error_set(err, CODE, "a row has more than %zu bytes", SOURCE_RECORD_MAX);
    column->bytes = (size_t)bytes;
    if (array->shape[0] > ROWS_MAX)
        return error_set(err, CODE, "more than %lld rows", (long long)ROWS_MAX);
    if (archive->n > 1 && array->shape[0] != archive->rows)
        return error_set(err, CODE, "it has %lld rows, and \"%.63s\" has %lld", (long long)array->shape[0],
                         archive->columns[0].name, (long long)archive->rows);
    archive->rows = array->shape[0];
    all = archive->rows * bytes;
    archive->bytes += all;
    if (archive->bytes > SOURCE_MAX)
        return error_set(err, CODE, "with it the arrays have more than %lld bytes", (long long)SOURCE_MAX);
    if (!array->fortran || array->dimensions == 1)
        return 0;
    archive->whole += all;
    if (archive->whole > WHOLE_MAX)
        return error_set(err, CODE,
                         "arrays in Fortran's order can have %lld bytes: numpy.ascontiguousarray() gives C's order",
                         (long long)WHOLE_MAX);
    column->whole = xcalloc((size_t)all + 1, 1);
    return 0;
}

static int read_header(struct npz_archive *archive, struct column *column, const struct zip_stat *st, struct error *err)
{
    unsigned char preamble[NPY_PREAMBLE];
    size_t first, size;
    uint64_t wanted;
    char *text;
    int rc;

    if (read_bytes(column, preamble, 10, err) < 0 ||
        (preamble[6] != 1 && read_bytes(column, preamble + 10, 2, err) < 0) ||
        npy_header_size(preamble, &first, &size, err) < 0)
        return -1;
    text = xcalloc(size + 1, 1);
    rc = read_bytes(column, text, size, err);
    if (rc == 0)
        rc = npy_parse(text, size, &column->array, err);
    free(text);
    if (rc < 0 || add_array_size(archive, column, err) < 0)
        return -1;
    wanted = first + size + (uint64_t)archive->rows * column->bytes;
    if (st->size != wanted)
        return error_set(err, CODE, "it has %llu bytes, where its header says %llu", (unsigned long long)st->size,
                         (unsigned long long)wanted);
    if (column->whole != NULL && read_bytes(column, column->whole, (size_t)archive->rows * column->bytes, err) < 0)
        return -1;
    column->row = xcalloc(column->bytes + 1, 1);
    return 0;
}

static int open_column(struct npz_archive *archive, zip_uint64_t i, struct error *err)
{
    struct column *column = &archive->columns[archive->n];
    struct zip_stat st;
    size_t size;

    if (zip_stat_index(archive->zip, i, 0, &st) < 0 || (st.valid & ZIP_STAT_NAME) == 0 ||
        (st.valid & ZIP_STAT_SIZE) == 0)
        return error_set(err, CODE, "the archive is damaged: %s", zip_strerror(archive->zip));
    size = strlen(st.name);
    if (size < 5 || strcmp(st.name + size - 4, ".npy") != 0)
        return error_set(err, CODE, "\"%.63s\" in the archive is no array (.npy)", st.name);
    column->name = xasprintf("%.*s", (int)size - 4, st.name);
    archive->n++;
    if ((st.valid & ZIP_STAT_COMP_METHOD) == 0 ||
        (st.comp_method != ZIP_CM_STORE && st.comp_method != ZIP_CM_DEFLATE)) {
        error_set(err, CODE, "it is compressed in another way than NumPy does");
        return refuse_array(column, err);
    }
    column->file = zip_fopen_index(archive->zip, i, 0);
    if (column->file == NULL) {
        error_set(err, CODE, "it cannot be read: %s", zip_strerror(archive->zip));
        return refuse_array(column, err);
    }
    if (read_header(archive, column, &st, err) == 0)
        return 0;
    if (column->array.kind == NPY_OBJECT)
        return pickled_refuse_array(archive->path, column->name, column->array.dimensions == 0, err);
    return refuse_array(column, err);
}

/* Gathers a row of an array in Fortran's order, in which the first index varies fastest. */
static void gather_row(struct column *column, int64_t number)
{
    const struct npy *array = &column->array;
    int64_t at[NPY_DIMENSIONS_MAX] = {0};

    for (int64_t item = 0; item < column->items; item++) {
        size_t from = (size_t)number, stride = (size_t)array->shape[0];

        for (size_t i = 1; i < array->dimensions; stride *= (size_t)array->shape[i++])
            from += (size_t)at[i] * stride;
        memcpy(column->row + (size_t)item * array->item, column->whole + from * array->item, array->item);
        for (size_t i = array->dimensions - 1; i > 0 && ++at[i] == array->shape[i]; i--)
            at[i] = 0;
    }
}

/* Returns the items of a row from *at on: an item, or a list for each further dimension. */
static json_t *nested(const struct column *column, size_t dimension, const unsigned char **at, struct error *err)
{
    json_t *list, *item;

    if (dimension == column->array.dimensions) {
        item = npy_item(&column->array, *at, err);
        *at += column->array.item;
        return item;
    }
    list = json_array();
    for (int64_t i = 0; i < column->array.shape[dimension]; i++) {
        item = nested(column, dimension + 1, at, err);
        if (item == NULL) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *npz_read_row(struct npz_archive *archive, int64_t number, struct error *err)
{
    json_t *row = json_object();

    for (size_t i = 0; i < archive->n; i++) {
        struct column *column = &archive->columns[i];
        const unsigned char *at = column->row;
        json_t *value = NULL;

        if (column->whole != NULL)
            gather_row(column, number);
        if (column->whole != NULL || read_bytes(column, column->row, column->bytes, err) == 0)
            value = nested(column, 1, &at, err);
        if (value == NULL) {
            char text[sizeof err->text];

            memcpy(text, err->text, sizeof text);
            error_set(err, CODE, "array \"%.63s\", row %lld: %.400s", column->name, (long long)number + 1, text);
            json_decref(row);
            return NULL;
        }
        json_object_set_new(row, column->name, value);
    }
    return row;
}

/* Checks that nothing is left of an array, and by that its checksum. */
static int check_ends(struct npz_archive *archive, struct error *err)
{
    for (size_t i = 0; i < archive->n; i++) {
        struct column *column = &archive->columns[i];
        char byte;
        zip_int64_t n = zip_fread(column->file, &byte, 1);

        if (n == 0)
            continue;
        if (n > 0)
            error_set(err, CODE, "it goes on behind its last row");
        else
            error_set(err, CODE, "it is damaged: %s", zip_error_strerror(zip_file_get_error(column->file)));
        return refuse_array(column, err);
    }
    return 0;
}

/* Refuses archives of the format for more than 65535 files, whose directory could be of any size. */
static int check_directory(int fd, struct error *err)
{
    off_t size = lseek(fd, 0, SEEK_END), from = size > TAIL ? size - TAIL : 0;
    unsigned char *tail = xcalloc((size_t)(TAIL + 1), 1);
    ssize_t n = pread(fd, tail, (size_t)(size - from), from);
    int rc = n == size - from ? 0 : error_set(err, CODE, "it cannot be read");

    for (ssize_t i = 0; rc == 0 && i + 24 <= n; i++)
        if (memcmp(tail + i, "PK\6\7", 4) == 0 && memcmp(tail + i + 20, "PK\5\6", 4) == 0)
            rc = error_set(err, CODE, "more than %d arrays", ROWS_COLUMNS_MAX);
    free(tail);
    return rc;
}

static int open_archive(struct npz_archive *archive, int fd, struct error *err)
{
    int own, code = 0;
    zip_error_t why;

    if (check_directory(fd, err) < 0)
        return -1;
    own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return error_errno(err, CODE, "it cannot be read");
    archive->zip = zip_fdopen(own, ZIP_CHECKCONS, &code);
    if (archive->zip != NULL)
        return 0;
    close(own);
    zip_error_init_with_code(&why, code);
    error_set(err, CODE, "it is no archive of arrays (.npz), or damaged: %s", zip_error_strerror(&why));
    zip_error_fini(&why);
    return -1;
}

int npz_read(const char *path, int fd, int (*column)(void *arg, const char *name, struct error *err),
             int (*row)(void *arg, const json_t *row, int64_t number, struct error *err), void *arg, struct error *err)
{
    struct npz_archive archive = {.path = path};
    int rc = pickled_check_file(path, fd, err) < 0 ? -1 : open_archive(&archive, fd, err);
    zip_int64_t entries = rc == 0 ? zip_get_num_entries(archive.zip, 0) : 0;

    if (entries > ROWS_COLUMNS_MAX)
        rc = error_set(err, CODE, "more than %d arrays", ROWS_COLUMNS_MAX);
    archive.columns = xcalloc((size_t)(rc == 0 ? entries : 0) + 1, sizeof *archive.columns);
    for (zip_int64_t i = 0; rc == 0 && i < entries; i++) {
        rc = open_column(&archive, (zip_uint64_t)i, err);
        if (rc == 0)
            rc = column(arg, archive.columns[i].name, err);
    }
    for (int64_t i = 0; rc == 0 && i < archive.rows; i++) {
        json_t *values = npz_read_row(&archive, i, err);

        rc = values != NULL ? row(arg, values, i + 1, err) : -1;
        json_decref(values);
    }
    if (rc == 0)
        rc = check_ends(&archive, err);
    for (size_t i = 0; i < archive.n; i++) {
        if (archive.columns[i].file != NULL)
            zip_fclose(archive.columns[i].file);
        free(archive.columns[i].name);
        free(archive.columns[i].whole);
        free(archive.columns[i].row);
    }
    free(archive.columns);
    if (archive.zip != NULL)
        zip_discard(archive.zip);
    return rc;
}
