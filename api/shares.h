/* Divides a limited number of long replies among clients. A token has at most a quarter of them, all clients on TCP
 * three quarters together, and the Unix socket the rest. So no client can use them up, and the owner of the daemon
 * always gets one. */
#ifndef API_SHARES_H
#define API_SHARES_H
#include "common/error.h"

#include <stdint.h>

struct share;

/* It begins as {.max = …, .what = …}. Nothing needs to be freed once all places have been given back. */
struct shares {
    unsigned max;     /* places in all; at least 4 */
    const char *what; /* for messages, such as "event streams" */
    unsigned taken, by_tcp;
    struct share *tokens; /* the tokens that have any */
};

/* Takes a place for the bearer of a token, or 0 for the Unix socket. Fails with "token_busy" if the token has its
 * share, "tcp_busy" if the clients on TCP have theirs, "busy" if all are taken. */
int shares_take(struct shares *shares, int64_t token, struct error *err);

void shares_give_back(struct shares *shares, int64_t token);
#endif
