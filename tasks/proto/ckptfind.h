/* Files in a checkpoint directory that may be checkpoints, by their names. */
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
    struct ckpt_file *items; /* those written first come first */
    size_t n;
};

/* Regular files that match the pattern, as for glob(7), below `dir`; none where there is no such directory. */
int ckptfind(const char *dir, const char *pattern, struct ckpt_files *files, struct error *err);
void ckptfind_free(struct ckpt_files *files);

/* The entry of that path, NULL where there is none. */
const struct ckpt_file *ckptfind_get(const struct ckpt_files *files, const char *path);

/* The last number in a file's name, -1 where there is none: its step, as people name such files. */
int64_t ckptfind_step(const char *path);

#endif
