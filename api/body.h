/* The body of a request, and what its headers say about it. */
#ifndef API_BODY_H
#define API_BODY_H
#include "common/error.h"

#include <jansson.h>
#include <microhttpd.h>
#include <stdbool.h>

struct body {
    char *data; /* NUL-terminated once anything is in it */
    size_t size, cap, max; /* LIMIT_BODY, unless less is taken */
    size_t discarded;
    size_t *budget; /* bytes of all bodies in memory */
};

void body_init(struct body *body, size_t *budget);
void body_fini(struct body *body);

/* Judge the headers: "body_too_large", "body_not_json". `wanted`: the route takes JSON. */
int body_check_headers(const struct body *body, struct MHD_Connection *connection, bool wanted, struct error *err);
/* Would the client send the body only after having been told to, or is it too long to be read? */
bool body_can_be_left(struct MHD_Connection *connection);

/* Append. Codes "body_too_large", "busy". */
int body_append(struct body *body, const char *data, size_t size, struct error *err);
/* Drop what is there and count. -1 beyond LIMIT_DISCARD. */
int body_discard(struct body *body, size_t size);

/* Parse. NULL with "json_malformed", and the place. */
json_t *body_json(const struct body *body, int *line, int *column, struct error *err);

#endif
