/* Replies to POSTs that carried an Idempotency-Key, kept a day. */
#ifndef DAEMON_STORE_IDEMPOTENCY_H
#define DAEMON_STORE_IDEMPOTENCY_H
#include "daemon/store/store.h"

/* 1: known, *status and *body (to be freed) are the first reply, `digest` of the first request is copied out; 0: not
 * known; -1 error. */
int store_idempotency_get(struct store *store, const char *key, char digest[65], int *status, char **body,
                          struct error *err);
/* Remember a reply, and forget some of those older than a day. */
int store_idempotency_put(struct store *store, const char *key, const char *digest, int status, const char *body,
                          int64_t now_ms, struct error *err);
/* Forget those older than a day: of the `step` eldest, so that it takes no time. */
int store_idempotency_prune(struct store *store, int64_t now_ms, int64_t step, struct error *err);
#endif
