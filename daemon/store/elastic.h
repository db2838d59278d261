/* The last actions of the policy of an elastic ensemble (daemon/engine/memory/elastic.h). */
#ifndef DAEMON_STORE_ELASTIC_H
#define DAEMON_STORE_ELASTIC_H
#include "daemon/store/store.h"

/* The direction of a change. */
enum elastic_way { ELASTIC_DOWN = -1, ELASTIC_NEVER, ELASTIC_UP };

struct elastic_row {
    int64_t ensemble;
    bool width_by_hand, ranks_by_hand;     /* a user has set it, and the policy leaves it alone */
    enum elastic_way width_way, ranks_way; /* its last change */
    bool ranks_last;                       /* the last change was one of the ranks */
    bool settling;                         /* the last change has not taken effect yet */
    int64_t changed_ms;                    /* when it was; 0 if there was none */
    int64_t until_ms;                      /* nothing is changed before */
    int64_t reversals;                     /* how often a change took back another one */
    char reason[256];                      /* a sentence about the last change; "" if there was none */
};

/* Returns 1 and the row, 0 if there is none (the row is then that of an ensemble that was never changed), or -1. */
int store_elastic_get(struct store *store, int64_t ensemble, struct elastic_row *row, struct error *err);
int store_elastic_put(struct store *store, const struct elastic_row *row, struct error *err);
#endif
