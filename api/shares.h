/* Long replies that are limited in number, and who may have how many of them: a token has a quarter of them at most, all clients on
 * TCP three quarters together, and whoever is on the Unix socket what is left. So one client takes nothing from the others, and the
 * owner always gets one. */
#ifndef API_SHARES_H
#define API_SHARES_H
#include "common/error.h"

#include <stdint.h>

struct share;

/* Begins as {.max = …, .what = …}; nothing needs to be freed once all has been given back. */
struct shares {
    unsigned max;     /* of all; at least 4 */
    const char *what; /* "event streams" */
    unsigned taken, by_tcp;
    struct share *tokens; /* those that have any */
};

/* Take one for the bearer of a token, 0: for the Unix socket. -1 where there is none: "token_busy" where the token has its share,
 * "tcp_busy" where the clients on TCP have theirs, "busy" where all are taken. */
int shares_take(struct shares *shares, int64_t token, struct error *err);

void shares_give_back(struct shares *shares, int64_t token);
#endif
