/* The body of a request, and the headers about it. */
#ifndef API_BODY_H
#define API_BODY_H
#include "common/error.h"

#include <jansson.h>
#include <microhttpd.h>
#include <stdbool.h>

struct body {
    char *data;            /* ends with a NUL as soon as there is any */
    size_t size, cap, max; /* max is LIMIT_BODY, or less for some callers */
    size_t discarded;
    size_t *budget; /* counts the bytes of all bodies in memory */
};

void body_init(struct body *body, size_t *budget);
void body_fini(struct body *body);

/* Judges the headers. Fails with code "body_too_large" or "body_not_json". `wanted` says whether the route takes
 * JSON. */
int body_check_headers(const struct body *body, struct MHD_Connection *connection, bool wanted, struct error *err);
/* Returns whether the body need not be read: the client waits to be asked for it, or it is too long. */
bool body_can_be_left(struct MHD_Connection *connection);

/* Appends a piece. Fails with code "body_too_large" or "busy". */
int body_append(struct body *body, const char *data, size_t size, struct error *err);
/* Drops what is there, and counts the bytes of a piece that is dropped, too. Returns -1 beyond LIMIT_DISCARD. */
int body_discard(struct body *body, size_t size);

/* Parses the body. Returns NULL with code "json_malformed" and the place. */
json_t *body_json(const struct body *body, int *line, int *column, struct error *err);

#endif
