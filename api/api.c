#include "api/api.h"

#include "api/server.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

struct api {
    struct api_config config;
    struct server **servers;
    size_t n;
};

int api_create(struct api **out, const struct api_config *config, struct error *err)
{
    struct api *api = xcalloc(1, sizeof *api);

    api->config = *config;
    *out = api;
    return 0;
}

int api_listen(struct api *api, const char *listen, struct error *err)
{
    struct server *server;

    if (strncmp(listen, "unix:", 5) != 0)
        return error_set(err, "listen_unsupported",
                         "\"%.200s\": only unix:PATH can be listened on; TCP needs tokens, which this version lacks",
                         listen);
    if (server_create(&server, &api->config, listen + 5, err) < 0)
        return -1;
    api->servers = xrealloc(api->servers, api->n + 1, sizeof *api->servers);
    api->servers[api->n++] = server;
    return 0;
}

void api_destroy(struct api *api)
{
    if (api == NULL)
        return;
    while (api->n > 0)
        server_destroy(api->servers[--api->n]);
    free(api->servers);
    free(api);
}
