/* Paths of files in the run directory. */
#ifndef DAEMON_ENGINE_MEMORY_PATHS_H
#define DAEMON_ENGINE_MEMORY_PATHS_H
#include <stdint.h>

struct engine;
struct live_ensemble;
struct live_job;

/* Returns the ensemble in whose part of the run directory the checkpoints of this ensemble's members are. */
int64_t engine_checkpoint_home(const struct live_ensemble *ens);
char *engine_job_dir(const struct engine *engine, const struct live_job *job);
/* Returns the directory of the ensemble's training, to be freed. */
char *engine_training_dir(const struct engine *engine, int64_t ensemble);
/* Returns the directory of a member's checkpoints, to be freed. */
char *engine_checkpoint_dir(const struct engine *engine, const struct live_ensemble *ens, int64_t index);

#endif
