#include "api/api.h"

#include "api/clients.h"
#include "api/feed.h"
#include "api/handlers.h"
#include "api/limits.h"
#include "api/paced.h"
#include "api/parameter_file.h"
#include "api/server.h"
#include "api/tls.h"
#include "api/value.h"
#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

struct api {
    struct api_config config;
    struct access access;
    struct tls tls;
    struct clients_counts clients;
    struct server **servers;
    size_t n;
    char *published; /* the path of the file with the addresses that are listened on */
};

/* Returns how many connections a listener may have. Jobs, files and the database need descriptors, too, and no listener
 * may take those of another. */
static unsigned connections_max(const struct api_config *config)
{
    unsigned max = config->connections_max != 0 ? config->connections_max : LIMIT_CONNECTIONS, share;
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur == RLIM_INFINITY)
        return max;
    share = files.rlim_cur > 2 * LIMIT_FILES ? (unsigned)(files.rlim_cur - LIMIT_FILES) : (unsigned)files.rlim_cur / 2;
    share /= config->listeners > 0 ? config->listeners : 1;
    return share < max ? share : max;
}

int api_create(struct api **out, const struct api_config *config, struct error *err)
{
    struct api *api = xcalloc(1, sizeof *api);

    api->config = *config;
    api->config.clients = &api->clients;
    api->config.feed = feed_create(&api->config);
    api->config.paced = paced_create(&api->config);
    api->access.config = &api->config;
    api->config.connections_max = connections_max(config);
    *out = api; /* set on failure, too, so that api_destroy() frees it */
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

void api_publish(struct api *api)
{
    json_t *list = json_array(), *json = json_pack("{s:o}", "listeners", list);
    struct error err;

    for (size_t i = 0; i < api->n; i++) {
        char *url = server_url(api->servers[i]);

        json_array_append_new(
            list, json_pack("{s:o, s:o}", "listen", value_text(server_name(api->servers[i])), "url", value_text(url)));
        free(url);
    }
    api->published = xasprintf("%s/listen.json", api->config.state_dir);
    if (file_write_json(api->published, json, 0600, &err) < 0) {
        log_error("%s: where the daemon listens is only in this log", err.text);
        unlink(api->published); /* an earlier daemon may have left one */
    }
    json_decref(json);
}

void api_reload(struct api *api)
{
    struct error err;

    if (tls_reload(&api->tls, &err) < 0)
        log_error("the certificate is not read again: %s (%s)", err.text, err.code);
    else if (api->tls.current != NULL)
        log_info("the certificate of the TCP listeners was read again");
}

void api_destroy(struct api *api)
{
    if (api == NULL)
        return;
    parameter_file_stop_all();
    backup_get_stop();
    if (api->published != NULL)
        unlink(api->published);
    free(api->published);
    while (api->n > 0)
        server_destroy(api->servers[--api->n]);
    paced_destroy(api->config.paced); /* not earlier, since waiters hold requests */
    feed_destroy(api->config.feed);   /* not earlier, since streams hold requests */
    free(api->servers);
    tls_fini(&api->tls);
    free(api);
}
