#include "common/url.h"

#include "common/xalloc.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#define SOCKET_MAX (sizeof((struct sockaddr_un *)0)->sun_path - 1)

static int parse_socket(struct url *url, const char *path, struct error *err)
{
    if (path[0] != '/' || strlen(path) > SOCKET_MAX)
        return error_set(err, URL_BAD,
                         "\"%s\" cannot be a socket's path: it must be absolute and at most %zu bytes long", path,
                         SOCKET_MAX);
    url->socket = xstrdup(path);
    url->base = xstrdup("http://stretto");
    url->is_local = url->is_private = true;
    return 0;
}

static bool has(CURLU *parts, CURLUPart part)
{
    char *text = NULL;
    bool found = curl_url_get(parts, part, &text, 0) == CURLUE_OK;

    curl_free(text);
    return found;
}

/* Returns whether a URL has only a scheme, host, port and path. "http://localhost:x@example.org" looks like one host
 * and is another, and a query would end the path of a call. */
static bool is_plain(CURLU *parts)
{
    static const CURLUPart none[] = {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_QUERY,
                                     CURLUPART_FRAGMENT};

    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (has(parts, none[i]))
            return false;
    return true;
}

static bool is_loopback_url(CURLU *parts)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    char *host = NULL;
    bool found = false;

    if (curl_url_get(parts, CURLUPART_HOST, &host, 0) != CURLUE_OK)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        found = found || strcasecmp(host, names[i]) == 0;
    curl_free(host);
    return found;
}

static int parse_http(struct url *url, CURLU *parts, const char *text, struct error *err)
{
    bool has_host = strstr(text, "://")[3] != '/'; /* without a host, libcurl would take the path for it */
    CURLUcode rc = has_host ? curl_url_set(parts, CURLUPART_URL, text, 0) : CURLUE_NO_HOST;
    size_t length = strlen(text);

    if (rc != CURLUE_OK)
        return error_set(err, URL_BAD, "\"%s\" is no URL of a daemon, as http://HOST:PORT would be: %s", text,
                         curl_url_strerror(rc));
    if (!is_plain(parts))
        return error_set(err, URL_BAD, "\"%s\" has a user, a query or a fragment: a daemon's URL has none of them",
                         text);
    while (length > 0 && text[length - 1] == '/')
        length--;
    url->base = xasprintf("%.*s", (int)length, text);
    url->is_local = is_loopback_url(parts);
    url->is_private = url->is_local || strncasecmp(text, "https:", 6) == 0;
    return 0;
}

int url_parse(struct url *url, const char *text, struct error *err)
{
    CURLU *parts;
    int rc;

    *url = (struct url){0};
    if (strncmp(text, "unix:", 5) == 0)
        return parse_socket(url, text + 5, err);
    if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
        return error_set(err, URL_BAD, "\"%s\" is no URL of a daemon: unix:/PATH, http://… or https://…", text);
    parts = curl_url();
    if (parts == NULL)
        return error_set(err, URL_BAD, "there is no memory to read \"%s\"", text);
    rc = parse_http(url, parts, text, err);
    curl_url_cleanup(parts);
    return rc;
}

void url_fini(struct url *url)
{
    free(url->socket);
    free(url->base);
    *url = (struct url){0};
}
