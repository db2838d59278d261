/* The parameter rows of an ensemble whose spec names a file: a copy in the state directory, made when the spec was
 * accepted and never changed afterwards. NAME.jsonl has one JSON object a line. NAME.index has an entry for every line
 * and one for the end: the offset, and the XXH3 digest of NAME and the line (64 bits each, little-endian). So any row
 * takes two small reads, nothing is held in memory, and a row that is another copy's or was changed is not believed. */
#ifndef DAEMON_SPEC_ROWS_H
#define DAEMON_SPEC_ROWS_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROWS_MAX INT64_C(10000000)
#define ROWS_COLUMNS_MAX 256
#define ROWS_BYTES_MAX ((size_t)64 << 10) /* bytes of one row, which must fit into an environment variable */

struct rows;

struct rows_entry {
    uint64_t offset, digest; /* little-endian */
};
/* Returns the digest of a line, without its newline, of the copy of this name. */
uint64_t rows_digest(const char *name, const char *line, size_t size);

/* Opens a copy. `columns` is the text that rows_columns_text() gave when it was made. Fails with code "store_io" if
 * the copy has changed since. */
struct rows *rows_open(const char *dir, const char *name, const char *columns, int64_t count, struct error *err);
void rows_close(struct rows *rows);
/* Removes a copy. It is no error if there is none. */
void rows_remove(const char *dir, const char *name);

const char *rows_name(const struct rows *rows);
const char *rows_path(const struct rows *rows); /* of its file of rows */
int64_t rows_count(const struct rows *rows);
size_t rows_columns(const struct rows *rows);
const char *rows_column(const struct rows *rows, size_t i);
/* Returns whether every row has a number in this column. */
bool rows_is_numeric(const struct rows *rows, size_t i);
/* Returns how many bytes a value of this column can have in a command; 0 unless the copy has just been made. */
size_t rows_longest(const struct rows *rows, size_t i);
void rows_note_longest(struct rows *rows, const json_t *longest); /* longest has the bytes by name */
char *rows_columns_text(const struct rows *rows);                 /* a new string */

/* Returns a row as a new object; NULL if it cannot be read or was changed, of which the first one is logged. */
json_t *rows_at(struct rows *rows, int64_t index);

/* Makes a copy. Blocks, so that it is for a worker thread. Fails with code "store_full" or "store_io". */
struct rows_writer;
struct rows_writer *rows_writer_create(const char *dir, const char *name, struct error *err);
/* Adds a row: an object of checked values (value.h) with the columns of the first one. Fails with code
 * "spec_parameter_file" if it is too large. */
int rows_writer_add(struct rows_writer *writer, const json_t *row, int64_t line, struct error *err);
int64_t rows_writer_count(const struct rows_writer *writer);
int64_t rows_writer_size(const struct rows_writer *writer); /* bytes of all rows so far */
/* Flushes the copy to disk, opens it, and frees the writer. Returns NULL with err on failure, and leaves no files
 * then. */
struct rows *rows_writer_finish(struct rows_writer *writer, struct error *err);
void rows_writer_abandon(struct rows_writer *writer);
#endif
