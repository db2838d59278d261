/* Archive files hold the exit records and the captured output of many attempts that have ended (docs/run-directory.md,
 * "Archives"). An entry is a line with its sizes, followed by its parts. Entries are only ever added. */
#ifndef DAEMON_RUNDIR_ARCHIVE_FILE_H
#define DAEMON_RUNDIR_ARCHIVE_FILE_H
#include "common/error.h"
#include "common/text.h"

#include <stdbool.h>
#include <stdint.h>

#define ARCHIVE_PART_MAX ((size_t)1 << 20) /* bytes; a larger file stays where it is */

/* Members that succeeded have files of their own, since keep_output may let go of these alone. */
enum archive_kind { ARCHIVE_OTHER, ARCHIVE_SUCCEEDED, ARCHIVE_KINDS };
enum archive_part { ARCHIVE_RECORD, ARCHIVE_STDOUT, ARCHIVE_STDERR, ARCHIVE_LOG, ARCHIVE_PARTS };

struct archive_entry {
    int64_t index, attempt;
    int64_t sizes[ARCHIVE_PARTS]; /* in bytes; -1: the entry does not have this part */
    uint64_t digest;              /* of all of these and of the parts: XXH3-64 */
};

/* Returns the path of an archive file, to be freed. `number` counts the files of an ensemble from 1. */
char *archive_path(const char *run_dir, int64_t ensemble, enum archive_kind kind, int64_t number);
/* Reads the name of an archive file. Returns false if it is that of another file. */
bool archive_name_parse(const char *name, enum archive_kind *kind, int64_t *number);

/* Adds an entry to a text. parts[i] has sizes[i] bytes. Sets the digest. */
void archive_entry_add(struct text *text, struct archive_entry *entry, const char *const parts[ARCHIVE_PARTS]);

/* Reads the line at `at`. *parts is where the parts begin. Returns 1, 0 if no whole entry is there, or -1 with
 * errno. */
int archive_entry_read(int fd, int64_t at, struct archive_entry *entry, int64_t *parts, struct error *err);
/* Returns the place behind an entry whose parts begin at `parts`. */
int64_t archive_entry_end(const struct archive_entry *entry, int64_t parts);
/* Reads all parts, each a text ended by NUL and to be freed; NULL for those that the entry does not have. Returns 1, 0
 * if the entry is damaged, or -1 with errno. */
int archive_parts_read(int fd, const struct archive_entry *entry, int64_t parts, char *texts[ARCHIVE_PARTS],
                       struct error *err);

/* Opens an archive file to read a part of the entry at `at`, which must be that of this attempt of this member. Returns
 * the descriptor, and the place and size of the part; the size is -1 if the entry does not have it. Returns -1 with
 * errno, which is EBADMSG if the entry is another one or damaged. */
int archive_open(const char *path, int64_t at, int64_t index, int64_t attempt, enum archive_part part, int64_t *first,
                 int64_t *size, struct error *err);
#endif
