/* Cancellations of single members. One stays until a resubmission of the member withdraws it. */
#ifndef DAEMON_STORE_CANCELLATION_H
#define DAEMON_STORE_CANCELLATION_H
#include "daemon/store/store.h"

int store_cancellation_put(struct store *store, int64_t ensemble, int64_t index, int64_t now_ms, struct error *err);
int store_cancellation_drop(struct store *store, int64_t ensemble, int64_t index, struct error *err);

/* Return whether this member was cancelled, and whether any member of the ensemble was: 1, 0, or -1 on error. */
int store_cancellation_has(struct store *store, int64_t ensemble, int64_t index, struct error *err);
int store_cancellation_any(struct store *store, int64_t ensemble, struct error *err);

#endif
