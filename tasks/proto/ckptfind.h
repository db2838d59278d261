/* Finds files in a checkpoint directory that may be checkpoints, by their names. */
#ifndef TASKS_PROTO_CKPTFIND_H
#define TASKS_PROTO_CKPTFIND_H
#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

struct ckpt_file {
    char *path; /* relative to the directory */
    int64_t size, mtime_ns, inode;
};

struct ckpt_files {
    struct ckpt_file *items; /* the one written first comes first */
    size_t n;
    char *linked; /* one that is left out, since a directory on the way is a symbolic link; NULL: there is none */
};

/* Finds regular files below `dir` that match the pattern, as for glob(7), without those behind symbolic links;
 * none if there is no such directory. */
int ckptfind(const char *dir, const char *pattern, struct ckpt_files *files, struct error *err);
void ckptfind_free(struct ckpt_files *files);

/* Returns the entry of that path, NULL if there is none. */
const struct ckpt_file *ckptfind_get(const struct ckpt_files *files, const char *path);

/* Returns the last number in a file's name, which usually is its step; -1 if there is none. */
int64_t ckptfind_step(const char *path);

#endif
