/* The adapters of this daemon: those that are built in, and those of the plugin folder. */
#ifndef DAEMON_ADAPTERS_H
#define DAEMON_ADAPTERS_H
#include "daemon/config.h"
#include "daemon/engine/engine.h"

struct adapters;

/* A plugin that is not used, and why. */
struct adapters_refused {
    char *path;
    struct error err;
};

/* Make them all, and make them known to the engine. -1 where a built-in one's configuration is wrong; a plugin that
 * cannot be used is logged and listed. *out is set in either case, and is to be destroyed. */
int adapters_create(struct adapters **out, uv_loop_t *loop, const struct config *config, struct engine *engine,
                    struct error *err);

/* End them; jobs go on. The loop must turn once more before adapters_free(). */
void adapters_destroy(struct adapters *adapters);
void adapters_free(struct adapters *adapters);

size_t adapters_count(const struct adapters *adapters);
const char *adapters_name(const struct adapters *adapters, size_t i);
/* Where it was loaded from, NULL of one that is built in. */
const char *adapters_path(const struct adapters *adapters, size_t i);
/* Ended by a NULL path. */
const struct adapters_refused *adapters_refused(const struct adapters *adapters);
#endif
