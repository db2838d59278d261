/* Sockets to listen on: "unix:PATH" and "tcp:HOST:PORT". */
#ifndef API_LISTENER_H
#define API_LISTENER_H
#include "common/error.h"

#include <stdbool.h>
#include <sys/types.h>

/* An address may be in use for a moment: a daemon that was killed while it started a program has left a child that holds its
 * sockets until it becomes that program. */
#define LISTENER_TRIES 40
#define LISTENER_PAUSE_MS 50

struct listener {
    int fd;
    bool tcp;
    char name[320]; /* as "listen" would say it, with the address and port that it really is */
    /* TCP */
    char host[256]; /* as it was asked for */
    /* Unix */
    char path[108];
    dev_t dev; /* which file it is: another one at the same path is not ours to remove */
    ino_t ino;
};

/* Bind and listen. Codes: "listen_in_use" where somebody else does already, and still after 2 s, for which it blocks;
 * "listen_unsupported" for a text of neither form, "listen_needs_tls", "listen_failed".
 *
 * A Unix socket has mode 0600. One on which nobody answers is replaced; one that answers, and anything that is no
 * socket, is left alone.
 *
 * TCP: HOST is a name, an IPv4 address or an IPv6 address in brackets; port 0 takes any. Where `tls` is false, only a
 * loopback address will do: anything else would send tokens over a network in the clear. */
int listener_open(struct listener *listener, const char *text, bool tls, struct error *err);

/* Remove the file of a Unix socket if it is still ours. Does not close the fd. */
void listener_remove(const struct listener *listener);

/* For listener_open(), one for each form; `rest` is what follows the colon. */
int listener_open_unix(struct listener *listener, const char *rest, struct error *err);
int listener_open_tcp(struct listener *listener, const char *rest, bool tls, struct error *err);
#endif
