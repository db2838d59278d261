/* Headers that two readers could understand differently: what stands before or behind this daemon might see another
 * request in the same bytes. */
#ifndef API_HEADERS_H
#define API_HEADERS_H
#include "common/error.h"

#include <microhttpd.h>

/* One Content-Length at most, of digits alone, and none beside Transfer-Encoding, which is "chunked" and nothing else; one
 * Host and one Authorization; no name with a blank in it. -1 with code "request_ambiguous"; the connection must then be
 * closed, since nobody knows where the next request begins. */
int headers_check(struct MHD_Connection *connection, struct error *err);
#endif
