/* What the daemon itself keeps to of an adapter's section of the configuration, whichever adapter it is. */
#ifndef DAEMON_LIMITS_H
#define DAEMON_LIMITS_H
#include "common/error.h"

#include <jansson.h>
#include <stdint.h>

/* The section of the adapter without the keys that are not for it, a new object, or NULL where there is none. *max_jobs is
 * how many jobs of members may be in flight there, 0 without limit. -1 with err where a value is wrong. */
int limits_take(const json_t *adapters, const char *name, json_t **section, int64_t *max_jobs, struct error *err);
#endif
