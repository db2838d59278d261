/* Which jobs were submitted of late: one that is asked for twice is submitted once, and one that is out of the listing can be
 * asked for by its id. */
#include "scheduler-adapters/pbs.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>

#define REMEMBERED_MS 900000

void pbs_note_submitted(struct adapter *a, const char *name, const char *id)
{
    struct pbs_known *known = xcalloc(1, sizeof *known), *old;

    snprintf(known->name, sizeof known->name, "%s", name);
    snprintf(known->id, sizeof known->id, "%s", id);
    known->since = a->listings;
    HASH_REPLACE_STR(a->known, name, known, old);
    free(old);
}

struct pbs_known *pbs_known_find(struct adapter *a, const char *name)
{
    struct pbs_known *known;

    HASH_FIND_STR(a->known, name, known);
    return known;
}

/* One that began before they were submitted tells nothing of them. */
void pbs_known_update(struct adapter *a, const struct pbs_rows *rows)
{
    struct pbs_known *known, *next;
    uint64_t now = uv_now(a->host.loop) + 1;
    size_t n;

    HASH_ITER (hh, a->known, known, next) {
        const struct pbs_row *row;

        if (known->since >= a->listings)
            continue;
        row = pbs_rows_find(rows, known->name, &n);
        if (row != NULL && row->phase != PBS_OVER) {
            known->gone = 0;
        } else if (known->gone == 0) {
            known->gone = now;
        } else if (now - known->gone > REMEMBERED_MS) {
            HASH_DEL(a->known, known);
            free(known);
        }
    }
}

void pbs_known_forget_all(struct adapter *a)
{
    struct pbs_known *known, *next;

    HASH_ITER (hh, a->known, known, next) {
        HASH_DEL(a->known, known);
        free(known);
    }
}
