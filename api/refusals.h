/* Counts failed tries to get in by peer address and minute, so that nobody outside can flood the log. */
#ifndef API_REFUSALS_H
#define API_REFUSALS_H
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define REFUSALS_SLOTS 64
#define REFUSALS_LOGGED 3 /* tries of one address in a minute that are logged */
#define REFUSALS_MAX 120  /* tries of one address in a minute; further ones are told to wait */

struct refusals {
    struct refusals_peer {
        struct in6_addr address; /* IPv4 is mapped; for IPv6 only the network */
        int64_t since_ms;        /* by the monotonic clock; 0 if the slot is free */
        unsigned count;
    } peers[REFUSALS_SLOTS + 1]; /* the last slot is for all addresses that find no other */
};

struct refusals_verdict {
    bool log;        /* this try is to be logged */
    unsigned silent; /* tries of the address in its minute before that were not logged */
    bool too_many;
};

/* Counts a try from an address at `now_ms` (monotonic, above 0). `peer` is NULL if the address is not known. */
struct refusals_verdict refusals_add(struct refusals *refusals, const struct sockaddr *peer, int64_t now_ms);
#endif
