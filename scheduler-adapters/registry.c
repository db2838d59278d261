#include "scheduler-adapters/registry.h"

#include <string.h>

extern const struct adapter_ops adapter_alps, adapter_local, adapter_pbs, adapter_slurm, adapter_slurmrestd;

const struct adapter_ops *const adapter_registry[] = {
    &adapter_local, &adapter_alps, &adapter_pbs, &adapter_slurm, &adapter_slurmrestd, NULL,
};

const struct adapter_ops *adapter_registry_find(const char *name)
{
    for (size_t i = 0; adapter_registry[i] != NULL; i++)
        if (strcmp(adapter_registry[i]->name, name) == 0)
            return adapter_registry[i];
    return NULL;
}
