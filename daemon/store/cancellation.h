/* Members that somebody cancelled, alone: what was asked for, until it is withdrawn by a resubmission. */
#ifndef DAEMON_STORE_CANCELLATION_H
#define DAEMON_STORE_CANCELLATION_H
#include "daemon/store/store.h"

int store_cancellation_put(struct store *store, int64_t ensemble, int64_t index, int64_t now_ms, struct error *err);
int store_cancellation_drop(struct store *store, int64_t ensemble, int64_t index, struct error *err);

/* Was this member cancelled; was any of the ensemble? 1, 0 or -1. */
int store_cancellation_has(struct store *store, int64_t ensemble, int64_t index, struct error *err);
int store_cancellation_any(struct store *store, int64_t ensemble, struct error *err);

#endif
