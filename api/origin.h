/* Requests made by a web browser, which runs the code of every page that its user visits. A browser is never trusted
 * because of where it connects from: `ssh -L` brings the Unix socket to it, and a page of any site can then send
 * requests here.
 *
 * Two attacks are known. A page sends a request across sites (CSRF): browsers mark it by Sec-Fetch-Site, by an Origin
 * other than the Host, or both; none of today's sends a POST, PATCH or DELETE to another origin without Origin. Or the
 * name of the page's own site comes to mean this machine (DNS rebinding): the browser then takes page and daemon for
 * one origin, and may mark nothing at all in a GET. Only the Host header gives this away, so that it is checked in
 * every request (api/host.h).
 *
 * What a browser may do is up to its session (api/session.h). */
#ifndef API_ORIGIN_H
#define API_ORIGIN_H
#include "common/error.h"

#include <microhttpd.h>
#include <stdbool.h>

/* The origin of a request, by its headers. */
struct origin {
    bool browser;  /* from a web browser */
    bool own;      /* from a page of this daemon, as a header says that no page can forge */
    bool document; /* it loads a page into a window of its own */
};

/* Fill *origin. -1 with "origin_not_allowed" where a page of another origin sent the request. The Host header has been
 * checked. */
int origin_check(struct MHD_Connection *connection, bool tls, struct origin *origin, struct error *err);

/* Returns whether the origin of `url` ("scheme://host[:port][/…]") is that of requests with this Host header. Over
 * plain HTTP, https will do as well: a proxy may have taken TLS off. */
bool origin_is_same(const char *url, const char *host, bool tls);
#endif
