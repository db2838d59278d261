/* Finds which members are whole in a checkpoint of a training, by the reports of its ranks (docs/run-directory.md,
 * whole-rankR.bin). */
#ifndef DAEMON_RUNDIR_WHOLE_H
#define DAEMON_RUNDIR_WHOLE_H
#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

/* The members of `count` that are whole in the files of all ranks. */
struct whole {
    /* the attempts that told their end, the earliest of those that different ranks name (tasks/proto/ends.h); from
     * malloc; zeros at the end are left out */
    unsigned char *ends;
    size_t size;
    int64_t members; /* how many are whole */
};

/* Returns 1; 0 if a file is not there, so that the checkpoint is not complete; -1 if one cannot be read. */
int whole_read(struct whole *whole, char *const *paths, size_t n_paths, int64_t count, struct error *err);
#endif
