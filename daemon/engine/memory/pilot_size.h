/* The size of pilots: the resources that they ask for, and how many jobs of members they have room for. */
#ifndef DAEMON_ENGINE_MEMORY_PILOT_SIZE_H
#define DAEMON_ENGINE_MEMORY_PILOT_SIZE_H
#include "scheduler-adapters/adapter.h"

#include <stdint.h>

struct known_adapter;
struct live_ensemble;
struct spec;

/* Returns the resources of the next pilot. With `"nodes"` alone they are those that the training leaves of the
 * adapter. */
struct adapter_resources pilot_resources(const struct known_adapter *adapter, const struct spec *spec);
int64_t pilot_fits(const struct spec *spec, int64_t cpus, int64_t gpus, int64_t memory); /* jobs of members at once */
/* Returns the resources that the adapter is asked for to run members: those of a job, or of a pilot. */
struct adapter_resources pilot_or_members(const struct live_ensemble *ens);

#endif
