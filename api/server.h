/* A server is one listener: libmicrohttpd without threads, inside the uv loop. */
#ifndef API_SERVER_H
#define API_SERVER_H
#include "api/access.h"
#include "api/api.h"
#include "api/tls.h"

struct server;

/* Listens as listener_open() does. If `tls` has a certificate, TCP listeners use TLS only. Everything but `listen` is
 * borrowed for as long as the server lives. */
int server_create(struct server **out, struct access *access, const struct tls *tls, const char *listen,
                  struct error *err);

/* Return the listener in the form of the setting "listen", with its real address and port, and its URL for clients,
 * which is to be freed. */
const char *server_name(const struct server *server);
char *server_url(const struct server *server);

/* Stops the server: what is ready is sent as far as possible without waiting, and the rest is dropped. The loop's next
 * round frees the memory. */
void server_destroy(struct server *server);
#endif
