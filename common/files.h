/* Files of the run directory and the state directory: written whole or not at all. */
#ifndef COMMON_FILES_H
#define COMMON_FILES_H
#include "common/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define FILE_JSON_MAX ((size_t)64 << 20) /* bytes of a JSON file that is read */
#define FILE_UNFLUSHED 0x10000u /* with a mode: not flushed, since nobody needs the file after a crash of this host */

/* Write to a temporary name beside `path`, flush to disk, rename, flush the directory. mode e.g. 0600. */
int file_write_whole(const char *path, const void *data, size_t size, unsigned mode, struct error *err);

/* The same with a JSON value (borrowed), compact, ended by a newline. */
int file_write_json(const char *path, const json_t *value, unsigned mode, struct error *err);

/* As file_write_whole(), but fails with errno EEXIST (code "file_exists") where the path is taken: link(2). */
int file_create_json(const char *path, const json_t *value, unsigned mode, struct error *err);

/* Read a file of at most `max` bytes; *out is NUL-terminated, to be freed. errno is set: ENOENT where there is none,
 * EFBIG beyond max. */
int file_read(const char *path, size_t max, char **out, size_t *size, struct error *err);

/* The same, of a file that belongs to this user and is no symbolic link: errno EPERM where it belongs to someone else, ELOOP where
 * it is a link. For files that tell this process what to run. */
int file_read_own(const char *path, size_t max, char **out, size_t *size, struct error *err);

/* Parse a JSON object from a file (at most FILE_JSON_MAX bytes); NULL on failure, errno ENOENT where there is none. */
json_t *file_read_json(const char *path, struct error *err);

/* From now on this process flushes nothing, as if every mode had FILE_UNFLUSHED. */
void file_flush_nothing(void);

/* The file or directory was just made: flush the directory that it is in, so that its name outlives a crash of this host. */
void file_flush_name(const char *path);

/* mkdir -p with mode 0700 for what is made, and file_flush_name(). */
int dir_make(const char *path, struct error *err);

/* The file's last non-blank line, printable, at most size-1 bytes, into out; "" where there is none. Lines for which `skip` (may be
 * NULL) is true do not count. */
void file_last_line(const char *path, bool (*skip)(const char *line), char *out, size_t size);
#endif
