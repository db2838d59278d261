/* A bad network between one member and one rank: a thread that passes on their messages, and loses some of them. */
#ifndef TESTS_STREAM_PROXY_H
#define TESTS_STREAM_PROXY_H
#include <stdint.h>

struct proxy;

struct proxy_losses {
    unsigned percent; /* of all messages, chosen at random with `seed` */
    uint64_t seed;
    unsigned to_rank, to_member; /* the number of the message that is lost in that direction, from 1; 0: none */
};

/* Binds `front` for the member, and connects to the rank at `back`. */
struct proxy *proxy_start(const char *front, const char *back, const struct proxy_losses *losses);

/* Stops the proxy. Returns how many messages were lost. */
unsigned proxy_stop(struct proxy *p);
#endif
