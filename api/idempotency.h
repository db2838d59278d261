/* Makes a POST with an Idempotency-Key happen once: if it is repeated within a day, it gets the first reply again. */
#ifndef API_IDEMPOTENCY_H
#define API_IDEMPOTENCY_H
#include "api/request.h"

struct idempotency {
    const char *key; /* NULL if the request has none; lives as long as the request */
    char digest[65]; /* digest of the call and its body */
};

/* Must be called before a handler does anything. `call` distinguishes this call from all others: method and path.
 * Returns true if the request has been answered: the key is unusable, came before with another request, or came before
 * with this one. In the last case `replayed` (may be NULL) may add headers that the first reply had. */
bool idempotency_answered(struct request *r, const char *call, struct idempotency *key,
                          void (*replayed)(struct request *r, const json_t *body));

/* Answers, and keeps the answer for the next time if there is a key. `json` is taken over. */
void idempotency_reply(struct request *r, const struct idempotency *key, int status, json_t *json);
#endif
