/* Long reads of the store for replies, a piece at a time: in each turn of the loop one of those who wait reads one piece, so that a
 * reply about a million members holds nobody else up. */
#ifndef API_PACED_H
#define API_PACED_H
#include "api/api.h"

#include <stdbool.h>

struct paced_waiter {
    /* Its turn has come: it no longer waits, and may read one piece and wait again. `ending`: the daemon ends, and nothing may be read
     * or waited for any more. */
    void (*piece)(struct paced_waiter *waiter, bool ending);
    struct paced_waiter *prev, *next; /* paced.c's own */
};

struct paced *paced_create(const struct api_config *config);
/* Calls everyone who waits a last time. Its handle is closed as the loop goes on. */
void paced_destroy(struct paced *paced);

/* Wait for a turn. The waiter must not be waiting already. */
void paced_wait(struct paced *paced, struct paced_waiter *waiter);
#endif
