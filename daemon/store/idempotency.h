/* Replies to POSTs that carried an Idempotency-Key. They are kept for a day. */
#ifndef DAEMON_STORE_IDEMPOTENCY_H
#define DAEMON_STORE_IDEMPOTENCY_H
#include "daemon/store/store.h"

/* Looks a key up. Returns 1 with the status, body (to be freed) and digest of the first request and its reply, 0 if the
 * key is not known, -1 on error. */
int store_idempotency_get(struct store *store, const char *key, char digest[65], int *status, char **body,
                          struct error *err);
/* Stores a reply, and removes some of those older than a day. */
int store_idempotency_put(struct store *store, const char *key, const char *digest, int status, const char *body,
                          int64_t now_ms, struct error *err);
/* Removes replies older than a day, looking only at the `step` oldest, so that it takes little time. */
int store_idempotency_prune(struct store *store, int64_t now_ms, int64_t step, struct error *err);
#endif
