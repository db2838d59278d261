/* Whose captured output is kept, and how far the rest has been let go. What is let go is marked first; its files are removed
 * by others (daemon/sweep.h), and then the sweep is noted to be further, so that it goes on after a crash where it was. */
#ifndef DAEMON_STORE_RETAIN_H
#define DAEMON_STORE_RETAIN_H
#include "daemon/store/store.h"

enum retain {
    RETAIN_ALL,
    RETAIN_FAILED, /* of members that did not succeed */
    RETAIN_NONE,
};

/* An ensemble that ended before a time, of which more may be let go, and the member to go on with: 1, 0 where there is none,
 * -1. The one that ended first comes first. */
int store_sweep_find(struct store *store, enum retain retain, int64_t before_ms, int64_t *ensemble, int64_t *from,
                     struct error *err);

struct released {
    int64_t index, number;
    char job_name[64]; /* "" where the job has other attempts that are kept */
    bool goes_on;      /* the member does, in a follow-up, which has its checkpoint directory */
};

/* Mark what is to go of at most `limit` members from `from` on as released at `now`, and call `each` for each attempt, those
 * marked before included. *next is the member to go on with, -1 after the last. */
int store_sweep_mark(struct store *store, enum retain retain, int64_t ensemble, int64_t from, int limit, int64_t now_ms,
                     int (*each)(void *arg, const struct released *attempt), void *arg, int64_t *next, struct error *err);
/* The files of that are gone: go on with `next`, or, where it is -1, be through with the ensemble. */
int store_sweep_advance(struct store *store, enum retain retain, int64_t ensemble, int64_t next, struct error *err);
/* What was begun under other settings is begun anew: at start. */
int store_sweep_restart(struct store *store, struct error *err);
#endif
