/* The paths of things in the run directory (docs/run-directory.md). */
#include "daemon/engine/memory/paths.h"

#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"

#include <stdlib.h>

char *engine_ensemble_dir(const struct engine *engine, int64_t ensemble)
{
    return xasprintf("%s/e%lld", engine->ports.run_dir, (long long)ensemble);
}

const char *engine_run_dir(const struct engine *engine)
{
    return engine->ports.run_dir;
}

/* Made for every member, and therefore not by a format. */
static struct text member_dir(const struct engine *engine, int64_t ensemble, int64_t index)
{
    struct text path = {0};

    text_string(&path, engine->ports.run_dir);
    text_string(&path, "/e");
    text_number(&path, ensemble);
    text_string(&path, "/members/");
    text_number(&path, index / 1000);
    text_string(&path, "/");
    text_number(&path, index);
    return path;
}

char *engine_attempt_dir(const struct engine *engine, int64_t ensemble, int64_t index, int64_t number)
{
    struct text path = member_dir(engine, ensemble, index);

    text_string(&path, "/a");
    text_number(&path, number);
    return path.data;
}

char *engine_job_dir(const struct engine *engine, const struct live_job *job)
{
    struct text path = {0};

    text_string(&path, engine->ports.run_dir);
    text_string(&path, "/e");
    text_number(&path, job->row.ensemble);
    text_string(&path, "/jobs/");
    text_string(&path, job->row.name);
    return path.data;
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
    struct text whole = member_dir(engine, home, index);

    text_string(&whole, "/checkpoint/");
    text_string(&whole, path);
    return whole.data;
}

char *engine_checkpoint_dir(const struct engine *engine, const struct live_ensemble *ens, int64_t index)
{
    struct text path = member_dir(engine, engine_checkpoint_home(ens), index);

    text_string(&path, "/checkpoint");
    return path.data;
}

char *engine_results_path(const struct engine *engine, int64_t home, const char *path)
{
    return path[0] == '/' ? xstrdup(path) : xasprintf("%s/e%lld/%s", engine->ports.run_dir, (long long)home, path);
}

char *engine_generation_dir(const struct engine *engine, int64_t ensemble, int64_t generation)
{
    return xasprintf("%s/e%lld/training/g%lld", engine->ports.run_dir, (long long)ensemble, (long long)generation);
}

char *engine_training_checkpoint_path(const struct engine *engine, int64_t ensemble, const char *name)
{
    return xasprintf("%s/e%lld/training/checkpoints%s%s", engine->ports.run_dir, (long long)ensemble,
                     name != NULL ? "/" : "", name != NULL ? name : "");
}

void engine_rank_files(const struct engine *engine, const struct training_row *training, int64_t rank, char **paths)
{
    char *dir = engine_generation_dir(engine, training->ensemble, training->generation);

    paths[RANK_FILE_ENDPOINT] =
        xasprintf("%s/e%lld/training/stream/g%lld-rank%lld.json", engine->ports.run_dir, (long long)training->ensemble,
                  (long long)training->generation, (long long)rank);
    paths[RANK_FILE_STATUS] = xasprintf("%s/status-rank%lld.json", dir, (long long)rank);
    paths[RANK_FILE_DONE] = xasprintf("%s/done-rank%lld.json", dir, (long long)rank);
    free(dir);
}

char *engine_rank_dir(const struct engine *engine, int64_t ensemble, int64_t generation, int64_t rank)
{
    return xasprintf("%s/e%lld/training/g%lld/rank%lld", engine->ports.run_dir, (long long)ensemble,
                     (long long)generation, (long long)rank);
}

char *engine_training_dir(const struct engine *engine, int64_t ensemble)
{
    return xasprintf("%s/e%lld/training", engine->ports.run_dir, (long long)ensemble);
}
