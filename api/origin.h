/* Recognises requests of web browsers. A browser runs the code of every page that its user visits, and is never trusted
 * because of where it connects from. `ssh -L` brings the Unix socket to it, and a page of any site can then send
 * requests here.
 *
 * Two attacks are known. In the first, a page sends a request across sites (CSRF). Browsers mark it by Sec-Fetch-Site,
 * by an Origin other than the Host, or both; all of today's send Origin with a POST, PATCH or DELETE to another origin.
 * In the second, the name of the page's own site is made to mean this machine (DNS rebinding). The browser then treats
 * page and daemon as one origin, and may not mark a GET at all. Only the Host header reveals this, so that it is
 * checked in every request (api/host.h).
 *
 * The session decides what a browser may do (api/session.h). */
#ifndef API_ORIGIN_H
#define API_ORIGIN_H
#include "common/error.h"

#include <microhttpd.h>
#include <stdbool.h>

/* The origin of a request, judged by its headers. */
struct origin {
    bool browser;  /* it comes from a web browser */
    bool own;      /* it comes from a page of this daemon, as a header says that no page can forge */
    bool document; /* it loads a page into a window of its own */
};

/* Fills *origin. Returns -1 with "origin_not_allowed" if a page of another origin sent the request. The Host header
 * must have been checked before. */
int origin_check(struct MHD_Connection *connection, bool tls, struct origin *origin, struct error *err);

/* Returns whether the origin of `url` ("scheme://host[:port][/…]") is that of requests with this Host header. For
 * requests without TLS, https is accepted as well, since a proxy may have ended TLS. */
bool origin_is_same(const char *url, const char *host, bool tls);
#endif
