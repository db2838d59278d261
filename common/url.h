/* Where a daemon is. */
#ifndef COMMON_URL_H
#define COMMON_URL_H
#include "common/error.h"

#include <stdbool.h>

struct url {
    char *socket; /* path of a Unix socket, or NULL */
    char *base;   /* "http://stretto" or what was given, without a final slash */
    bool is_local; /* what is sent there stays on this machine */
    bool is_private; /* it does, or is encrypted: a token may travel */
};

#define URL_BAD "bad_url" /* the code of its errors */

/* Fills *url from "unix:/path", "http://…" or "https://…". */
int url_parse(struct url *url, const char *text, struct error *err);
void url_fini(struct url *url);
#endif
