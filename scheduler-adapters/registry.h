/* The adapters that are built in. */
#ifndef SCHEDULER_ADAPTERS_REGISTRY_H
#define SCHEDULER_ADAPTERS_REGISTRY_H
#include "scheduler-adapters/adapter.h"

extern const struct adapter_ops *const adapter_registry[]; /* ended by NULL */

#endif
