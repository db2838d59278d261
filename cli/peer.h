/* Who listens on a Unix socket. */
#ifndef CLI_PEER_H
#define CLI_PEER_H
#include "common/error.h"

/* Check that the program that listens runs as this user or root: another user may have put a socket where ours was expected, and
 * would read what is sent. `fd` is connected to `path`. Returns 0, or -1 with code CLIENT_STRANGER where somebody else listens. */
int peer_check(int fd, const char *path, struct error *err);
#endif
