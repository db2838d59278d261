/* Checkpoints of members, as they were when an attempt last ended. The records themselves are files, see
 * tasks/proto/ckptdir.h; daemon/store/checkpoint.h is about checkpoints of the database. */
#ifndef DAEMON_STORE_MEMBER_CHECKPOINT_H
#define DAEMON_STORE_MEMBER_CHECKPOINT_H
#include "daemon/store/store.h"

struct member_checkpoint_row {
    int64_t home, index;       /* the ensemble in whose part of the run directory it lies, and the member there */
    int64_t number;            /* later checkpoints have higher numbers */
    int64_t ensemble, attempt; /* the attempt that made it */
    char path[512];            /* within the member's checkpoint directory */
    int64_t step;              /* -1 if it is not known */
    int64_t size;
    char digest[17];
    int64_t time_ms;
};

/* A place in the list of all checkpoints, which is sorted by these three. */
struct member_checkpoint_place {
    int64_t home, index, number;
};

int store_member_checkpoint_put(struct store *store, const struct member_checkpoint_row *row, struct error *err);
/* Removes all rows of a member. */
int store_member_checkpoint_clear(struct store *store, int64_t home, int64_t index, struct error *err);
/* Reads the newest checkpoint of a member. Returns 1 if there is one, 0 if not, -1 on error. */
int store_member_checkpoint_newest(struct store *store, int64_t home, int64_t index, struct member_checkpoint_row *row,
                                   struct error *err);
/* Reads checkpoints from a place on, of one home (0 for all) and one member of it (-1 for all). */
int store_member_checkpoint_each(struct store *store, const struct member_checkpoint_place *from, int64_t home,
                                 int64_t index, int limit,
                                 int (*each)(void *arg, const struct member_checkpoint_row *row), void *arg,
                                 struct error *err);
#endif
