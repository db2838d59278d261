#include "api/origin.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define PREFIX "Sec-Fetch-"

struct seen {
    const char *host;
    bool tls, browser;
    struct error *err;
    int rc;
};

/* Origin and Referer must name the host that the Host header names. */
static bool own_origin(const struct seen *seen, const char *value)
{
    return seen->host != NULL && origin_is_same(value, seen->host, seen->tls);
}

/* A URL bar or a bookmark sends "none". */
static bool own_site(const struct seen *seen, const char *value)
{
    return strcmp(value, "same-origin") == 0 || strcmp(value, "none") == 0;
}

/* The headers that tell a browser's request. Any other Sec-Fetch header tells it, too. */
static const struct rule {
    const char *name;
    bool (*fits)(const struct seen *seen, const char *value);
} rules[] = {
    {"Origin", own_origin},
    {"Referer", own_origin},
    {PREFIX "Site", own_site},
};

/* "host[:port]" with its length; the port that goes without saying is left out. */
static size_t authority_size(const char *authority, size_t size, const char *port)
{
    size_t n = strlen(port);

    return size > n && memcmp(authority + size - n, port, n) == 0 ? size - n : size;
}

bool origin_is_same(const char *url, const char *host, bool tls)
{
    bool https = strncasecmp(url, "https://", 8) == 0;
    const char *authority = url + (https ? 8 : 7), *port = https ? ":443" : ":80";
    size_t size, host_size;

    if (!https && (tls || strncasecmp(url, "http://", 7) != 0))
        return false;
    size = authority_size(authority, strcspn(authority, "/?#"), port);
    host_size = authority_size(host, strlen(host), port);
    return size == host_size && strncasecmp(authority, host, size) == 0;
}

static enum MHD_Result see(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct seen *seen = arg;

    if (strncasecmp(name, PREFIX, sizeof PREFIX - 1) == 0)
        seen->browser = true;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strcasecmp(name, rules[i].name) != 0)
            continue;
        seen->browser = true;
        if (rules[i].fits(seen, value != NULL ? value : ""))
            continue;
        seen->rc = error_set(seen->err, "origin_not_allowed",
                             "a page of another site sent this request (%s: %.100s), and no such page may use the daemon", rules[i].name,
                             value != NULL ? value : "");
        return MHD_NO;
    }
    return MHD_YES;
}

int origin_check(struct MHD_Connection *connection, const char *method, bool tls, struct error *err)
{
    struct seen seen = {.tls = tls, .err = err};

    seen.host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    MHD_get_connection_values(connection, MHD_HEADER_KIND, see, &seen);
    if (seen.rc < 0 || !seen.browser || strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return seen.rc;
    return error_set(err, "session_missing",
                     "a web browser needs a session to change anything, and this daemon has none yet: use curl or the stretto command");
}
