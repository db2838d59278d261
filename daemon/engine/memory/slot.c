/* Questions about a slot of a job. Nothing here changes it. */
#include "daemon/engine/memory/slot.h"

#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/paths.h"
#include "daemon/engine/memory/training.h"
#include "daemon/store/job.h"

#include <stdlib.h>

static char *slot_dir(const struct engine *engine, const struct live_job *job, const struct slot *slot)
{
    char *job_dir = job->row.kind == JOB_PILOT ? engine_job_dir(engine, job) : NULL, *dir;

    if (job_dir != NULL) {
        dir = xasprintf("%s/pilot", job_dir);
        free(job_dir);
        return dir;
    }
    return job->row.kind == JOB_TRAINING ? engine_rank_dir(engine, job->row.ensemble, slot->number, slot->index)
                                         : engine_attempt_dir(engine, job->row.ensemble, slot->index, slot->number);
}

char *slot_exit_path(const struct engine *engine, const struct live_job *job, const struct slot *slot)
{
    char *dir = slot_dir(engine, job, slot), *path = xasprintf("%s/exit.json", dir);

    free(dir);
    return path;
}

struct member_row slot_member(const struct live_job *job, const struct slot *slot)
{
    return (struct member_row){.ensemble = job->row.ensemble,
                               .index = slot->index,
                               .attempts = slot->number,
                               .failures = slot->failures,
                               .losses = slot->losses,
                               .stalls = slot->stalls,
                               .since = slot->since,
                               .since_in = slot->since_in};
}

struct ckpt_chain slot_chain(const struct live_job *job, const struct slot *slot)
{
    const struct training *training = job->ensemble->training;

    return (struct ckpt_chain){.ensemble = slot->since_in > 0 ? slot->since_in : job->row.ensemble,
                               .since = slot->since,
                               .generation = training != NULL ? training->row.keeps : 0};
}

const struct adapter_resources *job_resources(const struct live_job *job)
{
    const struct spec *spec = job->ensemble->spec;

    if (job->row.kind == JOB_TRAINING)
        return &spec->training.resources;
    return job->own != NULL ? job->own : &spec->members.resources;
}

struct adapter_resources pilot_resources_of(const struct live_job *job)
{
    struct adapter_resources r = job->ensemble->spec->allocation.resources;

    if (job->row.cpus > 0) {
        r.whole_nodes = false;
        r.cpus_per_task = (int)job->row.cpus;
    }
    return r;
}

void slot_forget_series(struct slot *slot)
{
    free(slot->series);
    slot->series = NULL;
    slot->n_series = 0;
}

bool job_is_stale(const struct live_job *job)
{
    const struct live_ensemble *ens = job->ensemble;

    return job->row.kind == JOB_MEMBERS && ensemble_has_former(ens) && job->row.id < ens->training->made_for_it;
}
