/* Somebody on the wire: passes bytes on between a TCP client and a local port, and looks at them. */
#ifndef TESTS_STREAM_TAP_H
#define TESTS_STREAM_TAP_H
#include <stddef.h>

struct tap;

/* Listens on 127.0.0.1 at *port, of its own choice, and passes on to the local port `to`; with 0, it accepts and keeps silent. Counts
 * how often the bytes `needle` go by from the client. Takes one connection after the other. */
struct tap *tap_start(unsigned to, const void *needle, size_t size, unsigned *port);

/* Of what has gone by from clients so far. */
size_t tap_bytes(struct tap *tap);
size_t tap_hits(struct tap *tap);

void tap_stop(struct tap *tap);
#endif
