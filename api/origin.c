#include "api/origin.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define PREFIX "Sec-Fetch-"

struct origin_seen {
    const char *host;
    bool tls;
    struct origin *origin;
    struct error *err;
    int rc;
};

/* Checks that Origin or Referer names the host that the Host header names. */
static bool own_origin(const struct origin_seen *seen, const char *value)
{
    return seen->host != NULL && origin_is_same(value, seen->host, seen->tls);
}

/* Checks Sec-Fetch-Site. Browsers send "none" for an address that was typed, or a bookmark. */
static bool own_site(const struct origin_seen *seen, const char *value)
{
    return strcmp(value, "same-origin") == 0 || strcmp(value, "none") == 0;
}

/* The headers that a browser's request has. Any other Sec-Fetch header marks one, too. */
static const struct rule {
    const char *name;
    bool (*fits)(const struct origin_seen *seen, const char *value);
    const char *of_no_page; /* the value of requests that come from no page */
} rules[] = {
    {"Origin", own_origin, ""},
    {"Referer", own_origin, ""},
    {PREFIX "Site", own_site, "none"},
};

/* Returns the size of "host[:port]" without the port if it is the default one. */
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

static int refuse_origin(struct origin_seen *seen, const char *name, const char *value)
{
    return error_set(seen->err, "origin_not_allowed",
                     "a page of another site sent this request (%s: %.100s), and no such page may use the daemon", name,
                     value);
}

static enum MHD_Result see_origin_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *text)
{
    struct origin_seen *seen = arg;
    const char *value = text != NULL ? text : "";

    if (strncasecmp(name, PREFIX, sizeof PREFIX - 1) == 0)
        seen->origin->browser = true;
    if (strcasecmp(name, PREFIX "Dest") == 0)
        seen->origin->document = strcmp(value, "document") == 0;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strcasecmp(name, rules[i].name) != 0)
            continue;
        seen->origin->browser = true;
        if (!rules[i].fits(seen, value))
            seen->rc = refuse_origin(seen, rules[i].name, value);
        else if (strcmp(value, rules[i].of_no_page) != 0)
            seen->origin->own = true;
    }
    return MHD_YES;
}

int origin_check(struct MHD_Connection *connection, bool tls, struct origin *origin, struct error *err)
{
    struct origin_seen seen = {.tls = tls, .origin = origin, .err = err};

    *origin = (struct origin){0};
    seen.host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    MHD_get_connection_values(connection, MHD_HEADER_KIND, see_origin_header, &seen);
    return seen.rc;
}
