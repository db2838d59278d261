/* HTTP to the daemon, over its Unix socket or TCP. One call at a time. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H
#include "common/error.h"
#include "common/url.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Codes of this side; every other code came from the daemon. */
#define CLIENT_NO_DAEMON "no_daemon"     /* nothing answers there, or it went away */
#define CLIENT_STRANGER "listener_not_trusted" /* another user's program answers there; it was sent nothing */
#define CLIENT_BAD_URL URL_BAD           /* the URL given cannot be used */
#define CLIENT_BAD_ANSWER "bad_answer"   /* what answers there does not speak like strettod */
#define CLIENT_INTERRUPTED "interrupted" /* *interrupt was set during the call */

struct client;

/* `url`: "unix:/path", "http://host:port" or "https://…"; NULL: the default state directory's socket. `token` may be
 * NULL. NULL with err on failure. Nothing is connected yet. */
struct client *client_create(const char *url, const char *token, struct error *err);
void client_destroy(struct client *client);

/* Check the daemon's certificate against this PEM file rather than the system's; NULL or "": the system's. */
void client_trust(struct client *client, const char *ca_file);

/* Calls are abandoned soon after *flag becomes non-zero (set by a signal handler). */
void client_interrupt(struct client *client, const volatile int *flag);

/* From now on a call that takes longer is given up, and none is tried again. */
void client_hurry(struct client *client, long ms);

/* GET, POST (body may be NULL) or PATCH of a path such as "/v1/ensembles?limit=1". 0 where the daemon answered 2xx, with the
 * document in *out (owned by the caller; may be passed as NULL) and, where text is not NULL, its very bytes in *text (to
 * be freed). -1 with err, whose code and pointer are the daemon's own where it answered.
 *
 * A connection lost after it was made is tried again for a while; a change carries an Idempotency-Key, the same in every
 * try, so that it happens once. */
int client_get(struct client *client, const char *path, json_t **out, char **text, struct error *err);
int client_post(struct client *client, const char *path, const char *body, json_t **out, char **text,
                struct error *err);
int client_patch(struct client *client, const char *path, const char *body, json_t **out, char **text,
                 struct error *err);

/* DELETE, likewise; it is for what does no harm when it happens twice. */
int client_delete(struct client *client, const char *path, json_t **out, char **text, struct error *err);

/* GET of plain text straight into a file. `follow`: it comes as it is written, with any silence between. *n is how many
 * bytes were written, also where it fails; -1 where none could be, since the daemon did not answer 2xx. */
int client_get_text(struct client *client, const char *path, FILE *to, bool follow, int64_t *n, struct error *err);

/* GET of server-sent events into a file, each piece as it comes, until the daemon ends the stream (0) or it is lost (-1); a daemon that says
 * nothing for longer than its heartbeat counts as gone. */
int client_stream(struct client *client, const char *path, FILE *to, struct error *err);

/* A curl command line that GETs `path` as this client would, ready to paste; to be freed. */
char *client_curl_line(const struct client *client, const char *path);

/* Where calls go. */
const struct url *client_url(const struct client *client);

/* `text` percent-encoded for a query; to be freed. */
char *client_escape(const char *text);
#endif
