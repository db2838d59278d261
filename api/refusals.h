/* Failed tries to get in, counted per peer address and minute, so that a log cannot be flooded from outside. */
#ifndef API_REFUSALS_H
#define API_REFUSALS_H
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define REFUSALS_SLOTS 64
#define REFUSALS_LOGGED 3 /* of one address in a minute */
#define REFUSALS_MAX 120  /* of one address in a minute; those beyond are told to wait */

struct refusals {
    struct refusals_peer {
        struct in6_addr address; /* IPv4 mapped; of IPv6 the network */
        int64_t since_ms;        /* monotonic; 0: free */
        unsigned count;
    } peers[REFUSALS_SLOTS + 1]; /* the last is for all those that find no room */
};

struct refusals_verdict {
    bool log;         /* say so */
    unsigned silent;  /* tries of the address' minute before that were not logged */
    bool too_many;
};

/* One more from this address at `now_ms` (monotonic, above 0). `peer` may be NULL: unknown. */
struct refusals_verdict refusals_add(struct refusals *refusals, const struct sockaddr *peer, int64_t now_ms);
#endif
