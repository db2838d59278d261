/* Calls the daemon by HTTP over its Unix socket or TCP, one call at a time. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H
#include "common/error.h"
#include "common/url.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Error codes of the client. All other codes come from the daemon. */
#define CLIENT_NO_DAEMON "no_daemon"           /* no daemon answers, or it went away */
#define CLIENT_STRANGER "listener_not_trusted" /* a program of another user answers; nothing was sent to it */
#define CLIENT_BAD_URL URL_BAD                 /* the URL cannot be used */
#define CLIENT_BAD_ANSWER "bad_answer"         /* the program that answers does not speak like strettod */
#define CLIENT_INTERRUPTED "interrupted"       /* *interrupt was set during the call */

struct client;

/* Makes a client without connecting. `url` is "unix:/path", "http://host:port" or "https://…"; NULL for the socket in
 * the default state directory. `token` may be NULL. Returns NULL with err on failure. */
struct client *client_create(const char *url, const char *token, struct error *err);
void client_destroy(struct client *client);

/* Checks the daemon's certificate against this PEM file; against the system's certificates with NULL or "". */
void client_trust(struct client *client, const char *ca_file);

/* Calls end soon after *flag becomes non-zero, which a signal handler sets. */
void client_interrupt(struct client *client, const volatile int *flag);

/* From now on a call that takes longer is given up, and no call is tried again. */
void client_hurry(struct client *client, long ms);

/* Calls a path such as "/v1/ensembles?limit=1" by GET, POST (body may be NULL) or PATCH. Returns 0 if the daemon
 * answered 2xx, with the document in *out (the caller's; out may be NULL). Unless text is NULL, *text has its exact
 * bytes, to be freed. Returns -1 with err, which has the daemon's code and pointer if it answered.
 *
 * If a connection is lost after it was made, the call is tried again for a while. A change carries an Idempotency-Key,
 * the same in every try, so that it happens only once. */
int client_get(struct client *client, const char *path, json_t **out, char **text, struct error *err);
int client_post(struct client *client, const char *path, const char *body, json_t **out, char **text,
                struct error *err);
int client_patch(struct client *client, const char *path, const char *body, json_t **out, char **text,
                 struct error *err);

/* Calls DELETE. It must be for something that does no harm when it happens twice. */
int client_delete(struct client *client, const char *path, json_t **out, char **text, struct error *err);

/* Calls GET for plain text, which goes straight into a file. If `follow` is true, it comes as it is written, with
 * pauses of any length. *n is the number of bytes written, also on failure; -1 if the daemon did not answer 2xx. */
int client_get_text(struct client *client, const char *path, FILE *to, bool follow, int64_t *n, struct error *err);

/* Calls GET for server-sent events. Each piece is written to the file as it comes, until the daemon ends the stream (0)
 * or it is lost (-1). A daemon that sends nothing for longer than its heartbeat counts as gone. */
int client_stream(struct client *client, const char *path, FILE *to, struct error *err);

/* Returns a curl command line that does a GET of `path` as this client would, for users to paste; to be freed. */
char *client_curl_line(const struct client *client, const char *path);

/* Returns the address that calls go to. */
const struct url *client_url(const struct client *client);

/* Returns `text` percent-encoded for a query, to be freed. */
char *client_escape(const char *text);
#endif
