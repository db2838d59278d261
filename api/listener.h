/* Opens sockets to listen on: "unix:PATH" and "tcp:HOST:PORT". */
#ifndef API_LISTENER_H
#define API_LISTENER_H
#include "common/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* An address may be in use for a moment longer: if a daemon was killed while it started a program, its child holds the
 * sockets until it becomes that program. */
#define LISTENER_TRIES 40
#define LISTENER_PAUSE_MS 50

struct listener {
    int fd;
    bool tcp;
    char name[320]; /* in the form of the setting "listen", with the real address and port */
    /* for TCP */
    char host[256]; /* as in the setting */
    /* for Unix sockets */
    char path[108];
    dev_t dev; /* identity of our file; another file at the same path is not ours to remove */
    ino_t ino;
};

/* Binds and listens. In tcp:HOST:PORT, HOST is a name, an IPv4 address or an IPv6 address in brackets; port 0 is any
 * free port. A Unix socket has mode 0600. A socket file on which nobody answers is replaced; one that answers, and
 * anything that is no socket, is left alone. Without `tls` only a loopback address is allowed, since tokens would
 * otherwise travel unencrypted over a network. Codes:
 *
 * - "listen_in_use": somebody else listens there, and still does after 2 s, for which it blocks
 * - "listen_unsupported": the text has neither form
 * - "listen_needs_tls"
 * - "listen_failed" */
int listener_open(struct listener *listener, const char *text, bool tls, struct error *err);

/* Removes the file of a Unix socket if it is still ours. Does not close the fd. */
void listener_remove(const struct listener *listener);

/* Used by listener_open() for the two forms; `rest` is the text after the colon. */
int listener_open_unix(struct listener *listener, const char *rest, struct error *err);
int listener_open_tcp(struct listener *listener, const char *rest, bool tls, struct error *err);
#endif
