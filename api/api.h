/* The HTTP interface: routes, requests, replies. Runs inside the daemon's loop and knows the engine and the store. */
#ifndef API_API_H
#define API_API_H
#include "common/error.h"
#include "daemon/adapters.h"
#include "daemon/control.h"
#include "daemon/engine/engine.h"
#include "daemon/laps.h"
#include "daemon/turn.h"

struct api;
struct clients_counts;
struct feed;
struct paced;

/* All pointers are borrowed and outlive the api. */
struct api_config {
    uv_loop_t *loop;
    struct turn *turn;
    struct store *store;
    struct store *reader; /* sees what is committed; NULL: there is none, and `store` is read */
    struct engine *engine;
    const struct control *control;
    const struct laps *laps;
    int64_t (*now_ms)(void *arg);
    void *now_arg;
    const char *state_dir;
    unsigned listeners;       /* how many will be listened on */
    unsigned connections_max; /* of one listener; 0: as descriptors allow */
    int64_t heartbeat_ms; /* an event stream is never silent for longer */
    struct feed *feed;    /* made by api_create() */
    struct paced *paced;  /* likewise */
    struct clients_counts *clients; /* of all listeners; made by api_create() */
    const struct adapters *adapters;
    const char *tls_certificate, *tls_key; /* files of the TCP listeners; NULL: none */
    const char *const *host_names; /* further names of this machine in Host headers, ended by NULL; NULL: none */
};

/* The process must ignore SIGPIPE: clients go away while they are written to. */
/* Code "tls_unusable". */
int api_create(struct api **out, const struct api_config *config, struct error *err);

/* Listen on "unix:PATH" or "tcp:HOST:PORT", callable more than once. A Unix socket is mode 0600 and answers only this
 * user and root; a socket file that nobody answers on is replaced. TCP answers whoever has a token, and only a loopback
 * address will do where there is no certificate. Codes: "listen_unsupported", "listen_in_use", "listen_needs_tls",
 * "listen_failed". */
int api_listen(struct api *api, const char *listen, struct error *err);

/* All is listened on: write STATE_DIR/listen.json, {"listeners": [{"listen": …, "url": …}]}, with the real addresses and
 * ports. It goes away with the api. Where that fails, for lack of room, say, the log tells, and the daemon goes on. */
void api_publish(struct api *api);

/* Read the certificate and its key again. What cannot be used is logged, and changes nothing; connections go on with
 * what they began with. */
void api_reload(struct api *api);

/* Stop listening, send what is ready, drop the rest. Callbacks under way may come after it and do no harm; its handles
 * are closed as the loop goes on, so run the loop once more before it is closed. */
void api_destroy(struct api *api);
#endif
