/* Which handler a request goes to. */
#ifndef API_ROUTES_H
#define API_ROUTES_H
#include <stddef.h>
#include <stdint.h>

struct request;

enum {
    ROUTE_BODY = 1, /* wants a JSON body; POSTs without it take an empty one, or {} */
    ROUTE_ADMIN = 2, /* only for the role admin, whatever the method */
    ROUTE_BODY_OPTIONAL = 4, /* takes a JSON body, or none */
    ROUTE_READER = 8, /* for the role reader, whatever the method */
    ROUTE_OPEN = 16, /* for everybody: it tells nothing, or looks itself at who asks */
    ROUTE_PAGE = 32, /* likewise, where HTML is asked for */
    ROUTE_FILE = 40, /* bytes of a name, with the NUL */
    ROUTE_IDS = 2,  /* at most this many ids in a pattern */
};

struct route {
    const char *method;
    const char *pattern; /* "{…}" stands for a number, and "{file}" at the end for a name */
    void (*handler)(struct request *request);
    const char *query; /* names of the query parameters, separated by blanks */
    unsigned flags;
};

extern const struct route route_table[]; /* ended by a NULL method */

enum routes_answer { ROUTES_FOUND, ROUTES_NO_PATH, ROUTES_NO_METHOD };

/* Look a path up. `allow` gets the methods of a known path ("GET, HEAD, OPTIONS"); HEAD finds GET. A path whose ids
 * are no numbers is ROUTES_NO_PATH. */
enum routes_answer routes_find(const char *method, const char *path, const struct route **route,
                               int64_t ids[ROUTE_IDS], char *allow, size_t allow_size);
#endif
