/* The adapters of this daemon: the built-in ones and those of the plugin folder. */
#ifndef DAEMON_ADAPTERS_H
#define DAEMON_ADAPTERS_H
#include "daemon/config.h"
#include "daemon/engine/engine.h"

struct adapters;

/* A plugin that is not used, with the reason. */
struct adapters_refused {
    char *path;
    struct error err;
};

/* Makes all adapters and registers them with the engine. Returns -1 if the configuration of a built-in one is wrong;
 * a plugin that cannot be used is logged and listed. *out is set in either case, and is to be destroyed. */
int adapters_create(struct adapters **out, uv_loop_t *loop, const struct config *config, struct engine *engine,
                    struct error *err);

/* Ends the adapters; their jobs go on. The loop must turn once more before adapters_free(). */
void adapters_destroy(struct adapters *adapters);
void adapters_free(struct adapters *adapters);

size_t adapters_count(const struct adapters *adapters);
const char *adapters_name(const struct adapters *adapters, size_t i);
/* Returns the file that an adapter was loaded from, or NULL for a built-in one. */
const char *adapters_path(const struct adapters *adapters, size_t i);
/* Returns the plugins that are not used. A NULL path ends the list. */
const struct adapters_refused *adapters_refused(const struct adapters *adapters);
#endif
