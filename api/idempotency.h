/* A POST that carries an Idempotency-Key happens once: made again within a day, the first reply is given again. */
#ifndef API_IDEMPOTENCY_H
#define API_IDEMPOTENCY_H
#include "api/request.h"

struct idempotency {
    const char *key; /* NULL: the request has none; lives as long as the request */
    char digest[65]; /* of the call and its body */
};

/* Before a handler does anything. `call` tells this call from all others: method and path. True where the request has
 * been answered: the key is unusable, came before with something else, or came before with this. In the last case
 * `replayed`, if not NULL, may add headers that the first reply had. */
bool idempotency_answered(struct request *r, const char *call, struct idempotency *key,
                          void (*replayed)(struct request *r, const json_t *body));

/* The answer, kept for the next time where there is a key. `json` is taken over. */
void idempotency_reply(struct request *r, const struct idempotency *key, int status, json_t *json);
#endif
