/* One listener: libmicrohttpd, without threads, inside the uv loop. */
#ifndef API_SERVER_H
#define API_SERVER_H
#include "api/access.h"
#include "api/api.h"
#include "api/tls.h"

struct server;

/* Listen as listener_open() does. Where `tls` holds a certificate, TCP listeners speak TLS and nothing else. All is
 * borrowed but `listen`. */
int server_create(struct server **out, struct access *access, const struct tls *tls, const char *listen,
                  struct error *err);

/* The listener as "listen" would say it, with its real address and port, and the URL for clients; to be freed. */
const char *server_name(const struct server *server);
char *server_url(const struct server *server);

/* Stop: what is ready is sent as far as it goes without waiting, the rest is dropped. Memory goes with the loop's next
 * round. */
void server_destroy(struct server *server);
#endif
