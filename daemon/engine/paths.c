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

int64_t engine_checkpoint_home(const struct live_ensemble *ens)
{
    return ensemble_root(&ens->row);
}

int64_t engine_checkpoint_home_of(const struct engine *engine, int64_t ensemble)
{
    struct ensemble_row row;
    struct error err;

    return store_ensemble_get(engine->store, ensemble, &row, &err) == 1 ? ensemble_root(&row) : ensemble;
}

char *engine_checkpoint_path(const struct engine *engine, int64_t home, int64_t index, const char *path)
{
    return xasprintf("%s/e%lld/members/%lld/%lld/checkpoint/%s", engine->ports.run_dir, (long long)home,
                     (long long)(index / 1000), (long long)index, path);
}

char *engine_checkpoint_dir(const struct engine *engine, const struct live_ensemble *ens, int64_t index)
{
    return xasprintf("%s/e%lld/members/%lld/%lld/checkpoint", engine->ports.run_dir, (long long)engine_checkpoint_home(ens),
                     (long long)(index / 1000), (long long)index);
}

char *engine_generation_dir(const struct engine *engine, int64_t ensemble, int64_t generation)
{
    return xasprintf("%s/e%lld/training/g%lld", engine->ports.run_dir, (long long)ensemble, (long long)generation);
}

void engine_rank_files(const struct engine *engine, const struct training_row *training, int64_t rank, char **paths)
{
    char *dir = engine_generation_dir(engine, training->ensemble, training->generation);

    paths[RANK_FILE_ENDPOINT] = xasprintf("%s/e%lld/training/stream/g%lld-rank%lld.json", engine->ports.run_dir,
                                          (long long)training->ensemble, (long long)training->generation, (long long)rank);
    paths[RANK_FILE_STATUS] = xasprintf("%s/status-rank%lld.json", dir, (long long)rank);
    paths[RANK_FILE_DONE] = xasprintf("%s/done-rank%lld.json", dir, (long long)rank);
    free(dir);
}

char *engine_rank_dir(const struct engine *engine, int64_t ensemble, int64_t generation, int64_t rank)
{
    return xasprintf("%s/e%lld/training/g%lld/rank%lld", engine->ports.run_dir, (long long)ensemble,
                     (long long)generation, (long long)rank);
}
