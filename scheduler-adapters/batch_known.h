/* The jobs that were submitted in an adapter's life, kept until some time after they are out of the listing. */
#ifndef SCHEDULER_ADAPTERS_BATCH_KNOWN_H
#define SCHEDULER_ADAPTERS_BATCH_KNOWN_H
#include "scheduler-adapters/batch.h"

#include <uthash.h>

struct batch_known {
    char name[64], id[64];
    uint64_t since;   /* only later listings count for the job */
    uint64_t gone;    /* loop time at which a listing no longer had it; 0: none yet */
    bool never_began; /* the adapter took it out of the queue */
    UT_hash_handle hh;
};

void batch_known_add(struct adapter *a, const char *name, const char *id);
struct batch_known *batch_known_find(const struct adapter *a, const char *name); /* NULL: it is not known */
void batch_known_update(struct adapter *a, const struct batch_rows *rows); /* by a listing that has just been read */
void batch_known_forget_all(struct adapter *a);
#endif
