/* The state that a training program saves in a checkpoint: a file, or a directory of files. */
#ifndef TASKS_TRAIN_STATE_H
#define TASKS_TRAIN_STATE_H
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

#define STATE_DIGEST_SIZE 17 /* XXH3-64 as 16 hex digits */

/* Reads all of it, and sets its size in bytes and its digest. The digest of a file is that of its content. The digest
 * of a directory is that of the names and contents of all files below it, in the bytewise order of their names. If
 * `flush` is true, every file and every name is flushed to the disk as well. On failure errno is ENOENT if there is
 * nothing at that path. */
int state_measure(const char *path, bool flush, int64_t *size, char digest[STATE_DIGEST_SIZE], struct error *err);

/* Removes it, as far as that is possible. */
void state_remove(const char *path);
#endif
