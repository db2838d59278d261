/* The HTTP interface: routes, requests, replies. Runs inside the daemon's loop and knows the engine and the store. */
#ifndef API_API_H
#define API_API_H
#include "common/error.h"
#include "daemon/engine/engine.h"
#include "daemon/turn.h"

struct api;

/* All pointers are borrowed and outlive the api. */
struct api_config {
    uv_loop_t *loop;
    struct turn *turn;
    struct store *store;
    struct engine *engine;
    int64_t (*now_ms)(void *arg);
    void *now_arg;
    const char *state_dir;
    const char *const *adapters; /* names, ended by NULL */
};

/* The process must ignore SIGPIPE: clients go away while they are written to. */
int api_create(struct api **out, const struct api_config *config, struct error *err);

/* Listen on "unix:PATH", callable more than once. The socket is mode 0600 and answers only this user and root. A socket
 * file that nobody answers on is replaced. Codes: "listen_unsupported", "listen_in_use", "listen_failed". */
int api_listen(struct api *api, const char *listen, struct error *err);

/* Stop listening, send what is ready, drop the rest. Callbacks under way may come after it and do no harm; its handles
 * are closed as the loop goes on, so run the loop once more before it is closed. */
void api_destroy(struct api *api);
#endif
