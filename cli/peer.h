/* Checks which user listens on a Unix socket. */
#ifndef CLI_PEER_H
#define CLI_PEER_H
#include "common/error.h"

/* Checks that the program that listens runs as this user or root. Another user may have put a socket in the place of
 * the daemon's to read what is sent. `fd` is connected to `path`. Returns 0, or -1 with code CLIENT_STRANGER. */
int peer_check(int fd, const char *path, struct error *err);
#endif
