/* Refuses headers that two readers could understand differently: a proxy before this daemon might see another request
 * in the same bytes. */
#ifndef API_HEADERS_H
#define API_HEADERS_H
#include "common/error.h"

#include <microhttpd.h>

/* Allows at most one Content-Length, of digits alone and not beside Transfer-Encoding, which may only be "chunked"; one
 * Host and one Authorization; and no name with a blank in it. Otherwise returns -1 with code "request_ambiguous". The
 * connection must then be closed, since nobody knows where the next request begins. */
int headers_check(struct MHD_Connection *connection, struct error *err);
#endif
