/* The address of a daemon: a URL or a Unix socket. */
#ifndef COMMON_URL_H
#define COMMON_URL_H
#include "common/error.h"

#include <stdbool.h>

struct url {
    char *socket;    /* path of a Unix socket, or NULL */
    char *base;      /* "http://stretto" for a socket, else the URL that was given, without a final slash */
    bool is_local;   /* data sent there stays on this machine */
    bool is_private; /* data sent there stays on this machine or is encrypted, so that a token may be sent */
};

#define URL_BAD "bad_url" /* the error code of url_parse() */

/* Reads "unix:/path", "http://…" or "https://…" into *url. */
int url_parse(struct url *url, const char *text, struct error *err);
void url_fini(struct url *url);
#endif
