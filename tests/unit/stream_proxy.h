/* A bad network between one member and its rank: it loses every so-manieth message, in both directions. */
#ifndef TESTS_STREAM_PROXY_H
#define TESTS_STREAM_PROXY_H
#include <stdatomic.h>
#include <stdint.h>

struct proxy;

/* Listens at `front`, forwards to `back`; of a hundred messages `loss` are lost, chosen by the seed. The first
 * `lose_first` from the member are lost in any case. */
struct proxy *proxy_start(const char *front, const char *back, unsigned loss, unsigned lose_first, uint64_t seed);

/* How many messages it lost. */
unsigned proxy_stop(struct proxy *proxy);
#endif
