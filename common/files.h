/* Files of the run directory and the state directory: written whole or not at all. */
#ifndef COMMON_FILES_H
#define COMMON_FILES_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define FILE_JSON_MAX ((size_t)64 << 20) /* bytes; a larger JSON file is not read */
/* added to a mode: do not flush, since nobody needs the file after a crash of this host */
#define FILE_UNFLUSHED 0x10000u

/* Replaces a file whole: writes to a temporary name beside `path`, flushes it to disk, renames it, and flushes the
 * directory. `mode` is, for example, 0600. */
int file_write_whole(const char *path, const void *data, size_t size, unsigned mode, struct error *err);

/* Removes temporary files that killed processes have left in a directory. Only for directories in which no other
 * process writes whole files. */
void file_sweep_temporary(const char *dir);

/* Like file_write_whole(), with a JSON value (borrowed) as one compact line. */
int file_write_json(const char *path, const json_t *value, unsigned mode, struct error *err);

/* Like file_write_json(), but never replaces a file: fails with errno EEXIST (code "file_exists") if there is
 * one. */
int file_create_json(const char *path, const json_t *value, unsigned mode, struct error *err);

/* Reads a file of at most `max` bytes into *out, which ends with a NUL and is to be freed. On failure errno is ENOENT
 * if there is no such file, and EFBIG if it is larger than `max`. */
int file_read(const char *path, size_t max, char **out, size_t *size, struct error *err);

/* Like file_read(), for files that decide what this process runs: the file must belong to this user and be no symbolic
 * link. On failure errno may also be EPERM (it belongs to someone else) or ELOOP (it is a link). */
int file_read_own(const char *path, size_t max, char **out, size_t *size, struct error *err);

/* Reads a JSON object from a file of at most FILE_JSON_MAX bytes. Returns NULL on failure, with errno ENOENT if
 * there is no such file. */
json_t *file_read_json(const char *path, struct error *err);

/* From now on this process flushes no file, as if every mode had FILE_UNFLUSHED. */
void file_flush_nothing(void);

/* Flushes the directory that a new file or directory is in, so that its name outlives a crash of this host. */
void file_flush_name(const char *path);

/* Makes a directory and those above it that are missing, with mode 0700, and flushes their names to disk. */
int dir_make(const char *path, struct error *err);

/* Copies the last line of a file that is not blank to `out`, without control characters and cut to size-1 bytes. Copies
 * "" if there is none, or if `path` is a symbolic link or no regular file. Lines for which `skip` (may be NULL) is true
 * are passed over. */
void file_last_line(const char *path, bool (*skip)(const char *line), char *out, size_t size);
#endif
