/* The keys in an adapter's section of the configuration that the daemon handles itself, the same for each adapter. */
#ifndef DAEMON_LIMITS_H
#define DAEMON_LIMITS_H
#include "common/error.h"

#include <jansson.h>
#include <stdint.h>

/* Returns in *section a copy of the adapter's section without these keys, or NULL if there is no section. *max_jobs
 * is how many jobs of members may be in flight at the adapter, 0 without a limit. Returns -1 with err if a value is
 * wrong. */
int limits_take(const json_t *adapters, const char *name, json_t **section, int64_t *max_jobs, struct error *err);
#endif
