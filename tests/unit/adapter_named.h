/* The built-in adapter of a name. */
#ifndef TESTS_ADAPTER_NAMED_H
#define TESTS_ADAPTER_NAMED_H
#include "scheduler-adapters/registry.h"

#include <string.h>

static inline const struct adapter_ops *adapter_named(const char *name)
{
    const struct adapter_ops *const *ops = adapter_registry;

    while (*ops != NULL && strcmp((*ops)->name, name) != 0)
        ops++;
    return *ops;
}
#endif
