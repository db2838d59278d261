/* Checkpoints of members, as they were when an attempt last ended (tasks/proto/ckptdir.h has the books themselves).
 * daemon/store/checkpoint.h is about the database's own. */
#ifndef DAEMON_STORE_MEMBER_CHECKPOINT_H
#define DAEMON_STORE_MEMBER_CHECKPOINT_H
#include "daemon/store/store.h"

struct member_checkpoint_row {
    int64_t home, index; /* the ensemble in whose part of the run directory it lies, and the member there */
    int64_t number;      /* the newest has the highest */
    int64_t ensemble, attempt; /* that made it */
    char path[512];      /* in the member's checkpoint directory */
    int64_t step;        /* -1: not known */
    int64_t size;
    char digest[17];
    int64_t time_ms;
};

/* A place in the list of all, which is in the order of these three. */
struct member_checkpoint_place {
    int64_t home, index, number;
};

int store_member_checkpoint_put(struct store *store, const struct member_checkpoint_row *row, struct error *err);
/* Forget all of a member's. */
int store_member_checkpoint_clear(struct store *store, int64_t home, int64_t index, struct error *err);
/* 1 found, 0 none, -1 error. */
int store_member_checkpoint_newest(struct store *store, int64_t home, int64_t index, struct member_checkpoint_row *row,
                                   struct error *err);
/* From a place on, of one home (0: of all) and one member of it (-1: of all). */
int store_member_checkpoint_each(struct store *store, const struct member_checkpoint_place *from, int64_t home, int64_t index,
                                 int limit, int (*each)(void *arg, const struct member_checkpoint_row *row), void *arg,
                                 struct error *err);
#endif
