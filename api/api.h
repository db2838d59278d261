/* The HTTP interface: routes, requests, replies. It runs in the daemon's loop and uses the engine and the store. */
#ifndef API_API_H
#define API_API_H
#include "common/error.h"
#include "daemon/adapters.h"
#include "daemon/control.h"
#include "daemon/engine/engine.h"
#include "daemon/loop_latency.h"
#include "daemon/turn.h"

struct api;
struct clients_counts;
struct feed;
struct paced;

/* All pointers are borrowed and must outlive the api. */
struct api_config {
    uv_loop_t *loop;
    struct turn *turn;
    struct store *store;
    struct store *reader; /* sees what is committed; NULL if there is none, so that `store` is read */
    struct engine *engine;
    const struct control *control;
    const struct loop_latency *latency;
    int64_t (*now_ms)(void *arg);
    void *now_arg;
    const char *state_dir;
    unsigned listeners;             /* number of listeners that there will be */
    unsigned connections_max;       /* for one listener; 0 for as many as descriptors allow */
    int64_t heartbeat_ms;           /* an event stream is never silent for longer than this */
    struct feed *feed;              /* made by api_create() */
    struct paced *paced;            /* made by api_create() */
    struct clients_counts *clients; /* for all listeners together; made by api_create() */
    const struct adapters *adapters;
    const char *tls_certificate, *tls_key; /* files for the TCP listeners; NULL for no TLS */
    const char *const *host_names;         /* further names in Host headers, ended by NULL; may be NULL */
};

/* Makes the api. The process must ignore SIGPIPE, since clients may go while they are written to. Fails with code
 * "tls_unusable". */
int api_create(struct api **out, const struct api_config *config, struct error *err);

/* Listens on "unix:PATH" or "tcp:HOST:PORT"; may be called more than once. A Unix socket has mode 0600 and answers only
 * this user and root; a socket file on which nobody answers is replaced. TCP answers any client with a token, and needs
 * a certificate unless the address is a loopback one. Fails with code "listen_unsupported", "listen_in_use",
 * "listen_needs_tls" or "listen_failed". */
int api_listen(struct api *api, const char *listen, struct error *err);

/* Called once everything is listened on: writes STATE_DIR/listen.json, {"listeners": [{"listen": …, "url": …}]},
 * with the real addresses and ports. The file goes away with the api. A failure, for lack of room for example, is only
 * logged. */
void api_publish(struct api *api);

/* Reads the certificate and its key again. A failure is logged and changes nothing; connections go on with the
 * certificate that they began with. */
void api_reload(struct api *api);

/* Stops listening, sends what is ready, and drops the rest. Callbacks under way may come later and do no harm. Its
 * handles are closed as the loop goes on, so run the loop once more before it is closed. */
void api_destroy(struct api *api);
#endif
