/* One listener: libmicrohttpd, without threads, inside the uv loop. */
#ifndef API_SERVER_H
#define API_SERVER_H
#include "api/api.h"

struct server;

/* Takes over the listening socket at `path` that listener_open() would make. `config` is borrowed. */
int server_create(struct server **out, const struct api_config *config, const char *path, struct error *err);

/* Stop: what is ready is sent as far as it goes without waiting, the rest is dropped. Memory goes with the loop's next
 * round. */
void server_destroy(struct server *server);
#endif
