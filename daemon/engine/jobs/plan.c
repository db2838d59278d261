/* Plans the files that must lie on disk before a job is submitted: directories, the job descriptor, and for a training
 * its configuration (docs/run-directory.md). */
#include "daemon/engine/jobs/plan.h"

#include "common/files.h"
#include "common/jsonx.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/jobs/plan_tasks.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/paths.h"
#include "daemon/engine/memory/slot.h"
#include "daemon/engine/memory/training.h"
#include "daemon/spec/rules.h"

#include <stdlib.h>
#include <string.h>

#define PILOT_STOPPED_MS 300000 /* after which one that is stopped is ended */

/* A member that is not warned before its end may be done sooner than its walltime says: nobody knows. */
static int64_t least_time_ms(const struct live_job *job)
{
    const struct spec *spec = job->ensemble->spec;

    return job->row.kind != JOB_TRAINING && spec->checkpoint.before_ms > 0
               ? spec_least_time_of(spec, job_resources(job)->walltime_ms)
               : 0;
}

void plan_adapter_job(const struct live_job *job, char *dir, struct adapter_job *out)
{
    const struct spec *spec = job->ensemble->spec;
    const struct spec_task *task = job->row.kind == JOB_TRAINING ? &spec->training : &spec->members;
    bool pilot = job->row.kind == JOB_PILOT;

    *out = (struct adapter_job){
        .name = job->row.name,
        .scheduler_id = job->row.scheduler_id[0] ? job->row.scheduler_id : NULL,
        .dir = dir,
        .resources = pilot ? pilot_resources_of(job) : *job_resources(job),
        .submitted_ms = job->row.submitted_ms,
        .grace_ms = pilot ? spec->allocation.grace_ms : task->grace_ms,
        .least_ms = least_time_ms(job),
    };
    out->resources.copies = (int)job->row.size;
}

static void add_dir(struct job_plan *plan, char *dir)
{
    plan->dirs = xrealloc(plan->dirs, plan->n_dirs + 1, sizeof *plan->dirs);
    plan->dirs[plan->n_dirs++] = dir;
}

/* `json` is taken over; it is a line of its own. */
static void plan_add_file(struct job_plan *plan, const struct live_job *job, char *path, char *json)
{
    unsigned mode = job->adapter->ops->same_host ? 0600 | FILE_UNFLUSHED : 0600;

    plan->files = xrealloc(plan->files, plan->n_files + 1, sizeof *plan->files);
    plan->files[plan->n_files++] = (struct rundir_file){.path = path, .json = json, .mode = mode};
}

static void add_json(struct job_plan *plan, const struct live_job *job, char *path, json_t *value)
{
    char *text = jsonx_dumps(value, JSON_COMPACT);

    plan_add_file(plan, job, path, xasprintf("%s\n", text));
    free(text);
    json_decref(value);
}

/* Adds what the ranks need to know of checkpoints to their configuration, and plans the directory for them. */
static void plan_checkpoints(const struct engine *engine, const struct live_ensemble *ens, json_t *config,
                             struct job_plan *plan)
{
    const struct spec_checkpoint *c = &ens->spec->training_checkpoint;
    const struct training_resumed *resumed = &ens->training->row.resumed;
    char *dir = engine_training_checkpoint_path(engine, ens->row.id, NULL);
    json_t *checkpoint = json_pack("{s:s, s:I}", "dir", dir, "keep", (json_int_t)c->keep);

    if (c->every_ms > 0)
        json_object_set_new(checkpoint, "every", json_real((double)c->every_ms / 1000));
    if (c->before_ms > 0)
        json_object_set_new(checkpoint, "before", json_real((double)c->before_ms / 1000));
    if (c->retain >= 0)
        json_object_set_new(checkpoint, "retain", json_integer((json_int_t)c->retain));
    json_object_set_new(config, "checkpoint", checkpoint);
    if (resumed->name[0] != '\0')
        json_object_set_new(config, "resume",
                            json_pack("{s:s, s:I}", "name", resumed->name, "step", (json_int_t)resumed->step));
    add_dir(plan, dir);
}

/* A generation that has no checkpoint of this training to go on from starts with the model of another ensemble's, of
 * which this training gets a copy of its own. */
static void plan_from(const struct engine *engine, const struct live_ensemble *ens, json_t *config,
                      struct job_plan *plan)
{
    const struct spec *spec = ens->spec;
    char *dir;

    if (spec->from_ensemble == 0 || ens->training->row.resumed.name[0] != '\0')
        return;
    dir = engine_training_dir(engine, ens->row.id);
    json_object_set_new(config, "from", json_pack("{s:s, s:s}", "dir", dir, "name", "from"));
    plan->files = xrealloc(plan->files, plan->n_files + 1, sizeof *plan->files);
    plan->files[plan->n_files++] = (struct rundir_file){
        .path = xasprintf("%s/from", dir),
        .checkpoint = engine_training_checkpoint_path(engine, spec->from_ensemble, spec->from_checkpoint)};
    add_dir(plan, dir);
}

static void plan_training(const struct engine *engine, const struct live_job *job, struct job_plan *plan)
{
    const struct live_ensemble *ens = job->ensemble;
    const struct training_row *training = &ens->training->row;
    const struct spec *spec = ens->spec;
    char *dir = engine_training_dir(engine, ens->row.id), *stream = xasprintf("%s/stream", dir);
    json_t *names = json_array(), *config, *current;

    for (size_t i = 0; i < params_size(spec->params); i++)
        if (params_is_numeric(spec->params, i))
            json_array_append_new(names, json_string(params_name(spec->params, i)));
    config =
        json_pack("{s:i, s:I, s:I, s:s, s:I, s:I, s:I, s:s, s:s, s:s, s:o, s:O, s:O}", "version", 1, "ensemble",
                  (json_int_t)ens->row.id, "training", (json_int_t)training->id, "job", job->row.name, "generation",
                  (json_int_t)training->generation, "ranks", (json_int_t)training->ranks, "count",
                  (json_int_t)ensemble_most(ens), "control", engine->ports.control_path, "stream", stream, "stream_key",
                  ens->row.stream_key, "parameters", names, "fields", spec->fields, "buffer", spec->buffer);
    current = json_pack("{s:i, s:I, s:I, s:I}", "version", 1, "generation", (json_int_t)training->generation, "ranks",
                        (json_int_t)training->ranks, "keeps", (json_int_t)training->keeps);
    if (!job->adapter->ops->same_host || !ens->adapter->ops->same_host)
        json_object_set_new(config, "network", json_true());
    if (spec->steps > 0)
        json_object_set_new(config, "steps", json_integer(spec->steps));
    if (engine->ports.stream_interface != NULL)
        json_object_set_new(config, "interface", json_string(engine->ports.stream_interface));
    if (spec->training_checkpoint.any)
        plan_checkpoints(engine, ens, config, plan);
    plan_from(engine, ens, config, plan);
    add_dir(plan, xstrdup(stream));
    add_dir(plan, xasprintf("%s/g%lld", dir, (long long)training->generation));
    add_json(plan, job, xasprintf("%s/g%lld/training.json", dir, (long long)training->generation), config);
    add_json(plan, job, xasprintf("%s/current.json", stream), current);
    free(stream);
    free(dir);
}

/* Plans the settings of the pilot, for each of its nodes. */
static void plan_pilot(const struct engine *engine, const struct live_job *job, struct job_plan *plan)
{
    const struct spec *spec = job->ensemble->spec;
    const struct spec_allocation *alloc = &spec->allocation;
    struct adapter_resources r = pilot_resources_of(job);
    char *dir = engine_job_dir(engine, job);
    json_t *config = json_pack("{s:i, s:s, s:I, s:s, s:i, s:i, s:I, s:f, s:f, s:b}", "version", 1, "job", job->row.name,
                               "ensemble", (json_int_t)job->row.ensemble, "control", engine->ports.control_path,
                               "nodes", r.nodes, "cpus", r.whole_nodes ? 0 : r.cpus_per_task, "memory",
                               (json_int_t)alloc->memory, "idle", (double)alloc->idle_ms / 1000, "least",
                               (double)spec_least_time_ms(spec) / 1000, "flush", !job->adapter->ops->same_host);

    if (alloc->launcher != NULL)
        json_object_set(config, "launcher", (json_t *)alloc->launcher);
    add_json(plan, job, xasprintf("%s/pilot.json", dir), config);
    add_dir(plan, dir);
}

void plan_drop(struct job_plan *plan)
{
    for (size_t i = 0; i < plan->n_dirs; i++)
        free(plan->dirs[i]);
    for (size_t i = 0; i < plan->n_files; i++) {
        free(plan->files[i].path);
        free(plan->files[i].json);
        free(plan->files[i].checkpoint);
    }
    free(plan->dirs);
    free(plan->files);
    free(plan->refused);
    free(plan->descriptor);
}

static struct jobdesc_metrics metrics_of(const struct spec *spec)
{
    const struct spec_metrics *m = &spec->metrics;

    return (struct jobdesc_metrics){.rung = spec->stopping.metric,
                                    .file = m->file,
                                    .format = m->format,
                                    .diverged = m->diverged,
                                    .name = m->success,
                                    .has_least = m->has_least,
                                    .has_most = m->has_most,
                                    .best = m->best,
                                    .least = m->least,
                                    .most = m->most};
}

void plan_job(const struct engine *engine, const struct live_job *job, struct job_plan *plan)
{
    bool training = job->row.kind == JOB_TRAINING, pilot = job->row.kind == JOB_PILOT;
    char *dir;
    const struct spec_task *what = training ? &job->ensemble->spec->training : &job->ensemble->spec->members;
    struct jobdesc desc = {
        .job = job->row.name,
        .ensemble = job->row.ensemble,
        .kind = training ? JOBDESC_TRAINING
                : pilot  ? JOBDESC_PILOT
                         : JOBDESC_MEMBERS,
        .control = engine->ports.control_path,
        .walltime_ms = pilot ? job->ensemble->spec->allocation.resources.walltime_ms : job_resources(job)->walltime_ms,
        .grace_ms = pilot ? job->ensemble->spec->allocation.grace_ms : what->grace_ms,
        .umask = pilot ? NULL : what->umask,
        .merged = !pilot && what->merged,
        .artefacts = training || pilot ? NULL : job->ensemble->spec->artefacts,
        .silence_ms = pilot ? PILOT_STOPPED_MS : what->silence_ms,
        .stopped_ms = pilot ? 0 : what->stopped_ms,
        .tmpdir = training || (what->tmpdir && !pilot), /* the ranks' sockets lie there */
    };
    const struct spec_checkpoint *checkpoint =
        training ? &job->ensemble->spec->training_checkpoint : &job->ensemble->spec->checkpoint;
    struct jobdesc_text text;
    json_t *attest = training || pilot ? NULL : rules_attest(job->ensemble->spec);

    *plan = (struct job_plan){0};
    if (!pilot && checkpoint->any)
        desc.checkpoint = (struct jobdesc_checkpoint){.any = true,
                                                      .before_ms = checkpoint->before_ms,
                                                      .signal = checkpoint->signal,
                                                      .glob = checkpoint->glob,
                                                      .keep = checkpoint->keep};
    if (training && checkpoint->any && checkpoint->retain != 0)
        desc.restarts = (struct jobdesc_restarts){.any = true,
                                                  .retries = job->ensemble->spec->training_retries,
                                                  .failures = job->ensemble->training->row.failures,
                                                  .losses = job->ensemble->training->row.losses,
                                                  .from = training_began_with(&job->ensemble->training->row)};
    if (!training && !pilot)
        desc.metrics = metrics_of(job->ensemble->spec);
    if (!training && !pilot && job->ensemble->spec->has_training)
        desc.streams = job->ensemble->spec->streams_optional ? JOBDESC_STREAMS_OPTIONAL : JOBDESC_STREAMS_REQUIRED;
    desc.attest = attest;
    jobdesc_begin(&text, &desc);
    json_decref(attest);
    plan->failed = plan_tasks(engine, job, &text, plan) < 0;
    plan->descriptor = jobdesc_end(&text);
    if (training)
        plan_training(engine, job, plan);
    if (pilot)
        plan_pilot(engine, job, plan);
    if (job_scheduler(job)->hands_over)
        return;
    dir = engine_job_dir(engine, job);
    plan_add_file(plan, job, xasprintf("%s/job.json", dir), plan->descriptor);
    add_dir(plan, dir);
    plan->descriptor = NULL;
}
