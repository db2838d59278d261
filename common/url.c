#include "common/url.h"

#include "common/xalloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

/* HOST, HOST:PORT or [ADDRESS]:PORT, and perhaps a path: curl would only say later, and of the daemon, what is wrong with it. */
static bool is_authority(const char *rest)
{
    size_t host = rest[0] == '[' ? strcspn(rest, "]") + 1 : strcspn(rest, ":/");
    char *end;
    long port;

    if (strpbrk(rest, "?# \t\r\n\"<>\\") != NULL || host == 0 || (rest[0] == '[' && (host < 4 || rest[host - 1] != ']')))
        return false;
    rest += host;
    if (rest[0] == ':') {
        if (rest[1] < '0' || rest[1] > '9')
            return false;
        port = strtol(rest + 1, &end, 10);
        if (port < 1 || port > 65535)
            return false;
        rest = end;
    }
    return rest[0] == '\0' || rest[0] == '/';
}

int url_parse(struct url *url, const char *text, struct error *err)
{
    size_t length;

    *url = (struct url){0};
    if (strncmp(text, "unix:", 5) == 0)
        url->socket = xstrdup(text + 5);
    else if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
        return error_set(err, URL_BAD, "\"%s\" is no URL of a daemon: unix:/PATH, http://… or https://…", text);
    /* "http://localhost:x@example.org" looks like one host and is another */
    if (url->socket == NULL && strchr(text, '@') != NULL)
        return error_set(err, URL_BAD, "a daemon's URL has no \"@\": what proves who calls does not belong there");
    if (url->socket == NULL && !is_authority(strstr(text, "://") + 3))
        return error_set(err, URL_BAD, "\"%s\" has no host, a wrong port or what does not belong there: http://HOST:PORT is wanted",
                         text);
    if (url->socket && (url->socket[0] != '/' || strlen(url->socket) >= sizeof((struct sockaddr_un *)0)->sun_path)) {
        error_set(err, URL_BAD, "\"%s\" cannot be a socket's path: it must be absolute and at most %zu bytes long",
                  url->socket, sizeof((struct sockaddr_un *)0)->sun_path - 1);
        url_fini(url);
        return -1;
    }
    url->base = xstrdup(url->socket ? "http://stretto" : text);
    length = strlen(url->base);
    while (length > 0 && url->base[length - 1] == '/')
        url->base[--length] = '\0';
    return 0;
}

void url_fini(struct url *url)
{
    free(url->socket);
    free(url->base);
    *url = (struct url){0};
}

static int is_host(const char *rest, const char *host)
{
    size_t n = strlen(host);

    return strncmp(rest, host, n) == 0 && (rest[n] == '\0' || rest[n] == ':' || rest[n] == '/');
}

int url_is_local(const struct url *url)
{
    const char *rest = strstr(url->base, "://") + 3;

    return url->socket != NULL || is_host(rest, "localhost") || is_host(rest, "127.0.0.1") || is_host(rest, "[::1]");
}

int url_is_private(const struct url *url)
{
    return strncmp(url->base, "https://", 8) == 0 || url_is_local(url);
}
