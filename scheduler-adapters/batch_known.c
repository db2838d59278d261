/* The jobs that were submitted recently. They are kept so that a job that is submitted twice goes to the batch system
 * once, and a job that is out of the listing can be asked for by its id. */
#include "scheduler-adapters/batch_known.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

void batch_known_add(struct adapter *a, const char *name, const char *id)
{
    struct batch_known *known = xcalloc(1, sizeof *known), *old;

    snprintf(known->name, sizeof known->name, "%s", name);
    snprintf(known->id, sizeof known->id, "%s", id);
    known->since = a->looks.listings;
    HASH_REPLACE_STR(a->looks.known, name, known, old);
    free(old);
}

struct batch_known *batch_known_find(const struct adapter *a, const char *name)
{
    struct batch_known *known;

    HASH_FIND_STR(a->looks.known, name, known);
    return known;
}

/* Updates the jobs from a listing. A listing that began before a job was submitted does not count for that job. */
void batch_known_update(struct adapter *a, const struct batch_rows *rows)
{
    struct batch_known *known, *next;
    uint64_t now = uv_now(a->host.loop) + 1;
    size_t n;

    HASH_ITER (hh, a->looks.known, known, next) {
        const struct batch_row *row;

        if (known->since >= a->looks.listings)
            continue;
        row = batch_rows_find(rows, known->name, &n);
        if (row != NULL && row->phase != BATCH_OVER) {
            known->gone = 0;
            continue;
        }
        if (known->gone == 0)
            known->gone = now;
        if (now - known->gone < (uint64_t)a->system->remembered_ms)
            continue;
        HASH_DEL(a->looks.known, known);
        free(known);
    }
}

void batch_known_forget_all(struct adapter *a)
{
    struct batch_known *known, *next;

    HASH_ITER (hh, a->looks.known, known, next) {
        HASH_DEL(a->looks.known, known);
        free(known);
    }
}
