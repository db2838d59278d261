/* Where things lie in the run directory (docs/run-directory.md). */
#include "daemon/engine/internal.h"

#include "common/xalloc.h"

#include <stdlib.h>

char *engine_ensemble_dir(const struct engine *engine, int64_t ensemble)
{
    return xasprintf("%s/e%lld", engine->ports.run_dir, (long long)ensemble);
}

char *engine_attempt_dir(const struct engine *engine, int64_t ensemble, int64_t index, int64_t number)
{
    return xasprintf("%s/e%lld/members/%lld/%lld/a%lld", engine->ports.run_dir, (long long)ensemble,
                     (long long)(index / 1000), (long long)index, (long long)number);
}

char *engine_rank_dir(const struct engine *engine, int64_t ensemble, int64_t generation, int64_t rank)
{
    return xasprintf("%s/e%lld/training/g%lld/rank%lld", engine->ports.run_dir, (long long)ensemble,
                     (long long)generation, (long long)rank);
}
