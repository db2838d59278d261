#include "api/api.h"

#include "api/feed.h"
#include "api/parameter_file.h"
#include "api/server.h"
#include "api/tls.h"
#include "api/value.h"
#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <unistd.h>

struct api {
    struct api_config config;
    struct access access;
    struct tls tls;
    struct server **servers;
    size_t n;
    char *published; /* the file that says where */
};

int api_create(struct api **out, const struct api_config *config, struct error *err)
{
    struct api *api = xcalloc(1, sizeof *api);

    api->config = *config;
    api->config.feed = feed_create(&api->config);
    api->access.config = &api->config;
    *out = api; /* also where it fails: api_destroy() then */
    return tls_load(&api->tls, config->tls_certificate, config->tls_key, err);
}

int api_listen(struct api *api, const char *listen, struct error *err)
{
    struct server *server;

    if (server_create(&server, &api->access, &api->tls, listen, err) < 0)
        return -1;
    log_info("listening on %s", server_name(server));
    api->servers = xrealloc(api->servers, api->n + 1, sizeof *api->servers);
    api->servers[api->n++] = server;
    return 0;
}

int api_publish(struct api *api, struct error *err)
{
    json_t *list = json_array(), *json = json_pack("{s:o}", "listeners", list);
    int rc;

    for (size_t i = 0; i < api->n; i++) {
        char *url = server_url(api->servers[i]);

        json_array_append_new(list, json_pack("{s:o, s:o}", "listen", value_text(server_name(api->servers[i])),
                                              "url", value_text(url)));
        free(url);
    }
    api->published = xasprintf("%s/listen.json", api->config.state_dir);
    rc = file_write_json(api->published, json, 0600, err);
    json_decref(json);
    return rc;
}

void api_destroy(struct api *api)
{
    if (api == NULL)
        return;
    parameter_file_stop_all();
    if (api->published != NULL)
        unlink(api->published);
    free(api->published);
    while (api->n > 0)
        server_destroy(api->servers[--api->n]);
    feed_destroy(api->config.feed); /* those who slept hold requests until here */
    free(api->servers);
    tls_fini(&api->tls);
    free(api);
}
