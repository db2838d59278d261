/* Paces long reads of the store: in each turn of the loop one waiting reply reads one piece, so that a reply about a
 * million members holds nobody else up. */
#ifndef API_PACED_H
#define API_PACED_H
#include "api/api.h"

#include <stdbool.h>

struct paced_waiter {
    /* Called when it is the waiter's turn. It no longer waits; it may read one piece and wait again. If `ending` is
     * true the daemon ends, and it must neither read nor wait. */
    void (*piece)(struct paced_waiter *waiter, bool ending);
    struct paced_waiter *prev, *next; /* private to paced.c */
};

struct paced *paced_create(const struct api_config *config);
/* Calls all waiters a last time. Its handle is closed as the loop goes on. */
void paced_destroy(struct paced *paced);

/* Waits for a turn. The waiter must not be waiting already. */
void paced_wait(struct paced *paced, struct paced_waiter *waiter);
#endif
