/* Decides which captured output is kept, and records how far the rest has been removed. Attempts are first marked as
 * released, then daemon/sweep.h removes their files, and then the position of the sweep is stored, so that it goes on
 * from there after a crash. */
#ifndef DAEMON_STORE_RETAIN_H
#define DAEMON_STORE_RETAIN_H
#include "daemon/store/store.h"

enum retain {
    RETAIN_ALL,
    RETAIN_FAILED, /* output of members that did not succeed */
    RETAIN_NONE,
};

/* Finds the ensemble that ended first, before a time, with output to remove, and the member to go on with. Returns 1 if
 * there is one, 0 if not, -1 on error. */
int store_sweep_find(struct store *store, enum retain retain, int64_t before_ms, int64_t *ensemble, int64_t *from,
                     struct error *err);

struct released {
    int64_t index, number;
    char job_name[64]; /* "" while other attempts of the job keep their output */
    bool goes_on;      /* the member goes on in a follow-up, which uses its checkpoint directory */
};

/* Marks attempts of at most `limit` members from `from` on as released at `now_ms`, and calls `each` for each attempt,
 * including those marked before. *next is the member to go on with, -1 after the last. */
int store_sweep_mark(struct store *store, enum retain retain, int64_t ensemble, int64_t from, int limit, int64_t now_ms,
                     int (*each)(void *arg, const struct released *attempt), void *arg, int64_t *next,
                     struct error *err);
/* Records that the files are gone: the sweep goes on with `next`, or is done with the ensemble if it is -1. */
int store_sweep_advance(struct store *store, enum retain retain, int64_t ensemble, int64_t next, struct error *err);
/* Restarts sweeps that are under way, since the settings may have changed. To be called at the start. */
int store_sweep_restart(struct store *store, struct error *err);
#endif
