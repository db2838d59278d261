/* An eavesdropper: passes on bytes between a TCP client and a local port, and looks at them. */
#ifndef TESTS_STREAM_TAP_H
#define TESTS_STREAM_TAP_H
#include <stddef.h>

struct tap;

/* Listens on 127.0.0.1, at a port that it chooses and stores in *port, and passes on to the local port `to`. With `to`
 * 0 it accepts connections and keeps silent. Counts how often the bytes `needle` come from the client. Takes one
 * connection after the other. */
struct tap *tap_start(unsigned to, const void *needle, size_t size, unsigned *port);

/* Return how many bytes came from clients so far, and how often the needle was among them. */
size_t tap_bytes(struct tap *tap);
size_t tap_hits(struct tap *tap);

void tap_stop(struct tap *tap);
#endif
