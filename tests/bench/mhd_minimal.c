/* The yardstick for the API's speed: libmicrohttpd answering every request with the same bytes, in one thread.
 * mhd-minimal SIZE: listens on a loopback port, says which, and ends with its standard input. */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum MHD_Result answer(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *size, void **context)
{
    return MHD_queue_response(connection, 200, cls);
}

int main(int argc, char **argv)
{
    size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    char *body = calloc(1, size + 1);
    struct MHD_Response *response;
    struct MHD_Daemon *daemon;

    if (body == NULL)
        return 1;
    memset(body, ' ', size);
    response = MHD_create_response_from_buffer(size, body, MHD_RESPMEM_MUST_FREE);
    MHD_add_response_header(response, "Content-Type", "application/json");
    daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, answer, response,
                              MHD_OPTION_CONNECTION_LIMIT, 1000u, MHD_OPTION_END);
    if (daemon == NULL)
        return 1;
    printf("%d\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    MHD_stop_daemon(daemon);
    MHD_destroy_response(response);
    return 0;
}
