/* Which members are whole in a checkpoint of a training, by what its ranks say (docs/run-directory.md, whole-rankR.bin). */
#ifndef DAEMON_RUNDIR_WHOLE_H
#define DAEMON_RUNDIR_WHOLE_H
#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

/* The members of `count` that are whole in the files of all ranks. */
struct whole {
    unsigned char *bits; /* from malloc; member m: byte m / 8, bit m % 8; zeros at the end are left out */
    size_t size;
    int64_t members; /* how many there are */
};

/* Returns 1; 0 if a file is not there, so that the checkpoint is not complete; -1 if one cannot be read. */
int whole_read(struct whole *whole, char *const *paths, size_t n_paths, int64_t count, struct error *err);
#endif
