/* Checks that the Host header names this daemon. A page in somebody's browser can make its own name point to 127.0.0.1
 * (DNS rebinding), but its requests then still have that name. */
#ifndef API_HOST_H
#define API_HOST_H
#include <stdbool.h>

/* Returns whether a host name is allowed: loopback names and addresses, the connection's own address, the listener's
 * host, and further names. `header` is the Host header, or NULL; `listening` is the host of the listener's setting;
 * `fd` is the connection; `names` ends with NULL, or is NULL. The port does not matter, since a tunnel may have changed
 * it. */
bool host_allowed(const char *header, const char *listening, int fd, const char *const *names);
#endif
