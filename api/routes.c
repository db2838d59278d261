#include "api/routes.h"

#include "api/handlers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct route route_table[] = {
#define ROUTE(method, pattern, handler, query, flags) {#method, pattern, handler, query, flags},
#include "api/tbl/routes.h"
#undef ROUTE
    {NULL, NULL, NULL, NULL, 0},
};

/* Reads a number without sign or leading zeros, so that each thing has only one path. */
static bool parse_id(const char *text, size_t size, int64_t *id)
{
    char digits[20];

    if (size == 0 || size >= sizeof digits || strspn(text, "0123456789") < size || (size > 1 && text[0] == '0'))
        return false;
    memcpy(digits, text, size);
    digits[size] = '\0';
    errno = 0;
    *id = strtoll(digits, NULL, 10);
    return errno == 0;
}

static bool is_name(const char *pattern)
{
    return strncmp(pattern, "{file}", 6) == 0 || strncmp(pattern, "{folder}", 8) == 0;
}

static bool match(const char *pattern, const char *path, int64_t ids[ROUTE_IDS])
{
    size_t n = 0;

    while (*pattern && *path) {
        if (*pattern == '{') {
            size_t size = strcspn(path, "/");

            if (size == 0 || (!is_name(pattern) && !parse_id(path, size, &ids[n++])))
                return false;
            pattern += strcspn(pattern, "}") + 1;
            path += size;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *pattern == '\0' && *path == '\0';
}

enum routes_answer routes_find(const char *method, const char *path, const struct route **route, int64_t ids[ROUTE_IDS],
                               char *allow, size_t allow_size)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    const struct route *r;

    allow[0] = '\0';
    *route = NULL;
    for (r = route_table; r->method != NULL; r++) {
        size_t n = strlen(allow);
        int64_t found[ROUTE_IDS] = {0};

        if (!match(r->pattern, path, found))
            continue;
        snprintf(allow + n, allow_size - n, "%s, %s", r->method, strcmp(r->method, "GET") == 0 ? "HEAD, " : "");
        if (strcmp(r->method, wanted) == 0) {
            *route = r;
            memcpy(ids, found, sizeof found);
        }
    }
    if (allow[0] == '\0')
        return ROUTES_NO_PATH;
    snprintf(allow + strlen(allow), allow_size - strlen(allow), "OPTIONS");
    return *route != NULL ? ROUTES_FOUND : ROUTES_NO_METHOD;
}
