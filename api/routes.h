/* Finds the handler of a request. */
#ifndef API_ROUTES_H
#define API_ROUTES_H
#include <stddef.h>
#include <stdint.h>

struct request;

enum {
    ROUTE_BODY = 1,          /* needs a JSON body; a POST without this flag takes an empty body, or {} */
    ROUTE_ADMIN = 2,         /* only for the role admin, whatever the method is */
    ROUTE_BODY_OPTIONAL = 4, /* takes a JSON body, or none */
    ROUTE_READER = 8,        /* for the role reader, too, whatever the method is */
    ROUTE_OPEN = 16,         /* for everybody: it says nothing, or checks the caller itself */
    ROUTE_PAGE = 32,         /* for everybody if the client asks for HTML */
    ROUTE_FILE = 64,         /* bytes of the path of a file below /web/, with the NUL */
    ROUTE_IDS = 2,           /* the most ids that a pattern may have */
};

struct route {
    const char *method;
    const char *pattern; /* "{file}" and "{folder}" stand for a name, and any other "{…}" for a number */
    void (*handler)(struct request *request);
    const char *query; /* names of the query parameters, separated by blanks */
    unsigned flags;
};

extern const struct route route_table[]; /* ended by a NULL method */

enum routes_answer { ROUTES_FOUND, ROUTES_NO_PATH, ROUTES_NO_METHOD };

/* Looks a path up. `allow` gets the methods of a known path ("GET, HEAD, OPTIONS"); HEAD finds GET. A path whose ids
 * are not numbers is ROUTES_NO_PATH. */
enum routes_answer routes_find(const char *method, const char *path, const struct route **route, int64_t ids[ROUTE_IDS],
                               char *allow, size_t allow_size);
#endif
