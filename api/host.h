/* Is this daemon what the Host header names? A page in somebody's browser can make its own name point to 127.0.0.1
 * (DNS rebinding); what it sends then still bears that name. */
#ifndef API_HOST_H
#define API_HOST_H
#include <stdbool.h>

/* `header`: the Host header, or NULL. `listening`: the host as the listener was told. `fd`: the connection. `names`:
 * further names, ended by NULL, or NULL. True for loopback names and addresses, the connection's own address, the
 * listener's host, and the names. The port does not matter: a tunnel may have changed it. */
bool host_allowed(const char *header, const char *listening, int fd, const char *const *names);
#endif
