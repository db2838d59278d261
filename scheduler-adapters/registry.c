#include "scheduler-adapters/registry.h"

extern const struct adapter_ops adapter_alps, adapter_local, adapter_pbs, adapter_slurm, adapter_slurmrestd;

const struct adapter_ops *const adapter_registry[] = {
    &adapter_local, &adapter_alps, &adapter_pbs, &adapter_slurm, &adapter_slurmrestd, NULL,
};
