/* What must lie on disk before a job is submitted: directories, the job descriptor, and for a training its
 * configuration (docs/run-directory.md). */
#include "daemon/engine/internal.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "daemon/control_key.h"
#include "daemon/spec/template.h"
#include "tasks/proto/jobdesc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

char *plan_job_dir(const struct engine *engine, const struct live_job *job)
{
    return xasprintf("%s/e%lld/jobs/%s", engine->ports.run_dir, (long long)job->row.ensemble, job->row.name);
}

void plan_adapter_job(const struct live_job *job, char *dir, struct adapter_job *out)
{
    const struct spec *spec = job->ensemble->spec;
    const struct spec_task *task = job->row.kind == JOB_TRAINING ? &spec->training : &spec->members;

    *out = (struct adapter_job){
        .name = job->row.name,
        .scheduler_id = job->row.scheduler_id[0] ? job->row.scheduler_id : NULL,
        .dir = dir,
        .resources = task->resources,
        .submitted_ms = job->row.submitted_ms,
        .grace_ms = task->grace_ms,
    };
    out->resources.copies = (int)job->row.size;
}

static void add_dir(struct job_plan *plan, char *dir)
{
    plan->dirs = xrealloc(plan->dirs, plan->n_dirs + 1, sizeof *plan->dirs);
    plan->dirs[plan->n_dirs++] = dir;
}

static void add_file(struct job_plan *plan, const struct live_job *job, char *path, json_t *json)
{
    unsigned mode = job->adapter->ops->same_host ? 0600 | FILE_UNFLUSHED : 0600;

    plan->files = xrealloc(plan->files, plan->n_files + 1, sizeof *plan->files);
    plan->files[plan->n_files++] = (struct rundir_file){path, json, mode};
}

static void set_int(json_t *env, const char *name, int64_t value)
{
    char *text = xasprintf("%" PRId64, value);

    json_object_set_new(env, name, json_string(text));
    free(text);
}

static void set_text(json_t *env, const char *name, char *text)
{
    json_object_set_new(env, name, json_string(text));
    free(text);
}

static json_t *fill_array(const json_t *templates, const json_t *values)
{
    json_t *out = json_array();
    const json_t *item;
    size_t i;

    json_array_foreach (templates, i, item) {
        char *text = template_fill(json_string_value(item), values);

        json_array_append_new(out, json_string(text));
        free(text);
    }
    return out;
}

static json_t *fill_env(const json_t *templates, const json_t *values)
{
    json_t *out = json_object(), *value;
    const char *name;

    json_object_foreach ((json_t *)templates, name, value)
        set_text(out, name, template_fill(json_string_value(value), values));
    return out;
}

static char *training_dir(const struct engine *engine, int64_t ensemble)
{
    return xasprintf("%s/e%lld/training", engine->ports.run_dir, (long long)ensemble);
}

/* `import stretto` finds our package, before anything that the spec, or who started the daemon, put there. */
static void add_python_path(const struct engine *engine, json_t *env)
{
    const char *rest = json_string_value(json_object_get(env, "PYTHONPATH"));

    if (engine->ports.python_path[0] == '\0')
        return;
    if (rest == NULL)
        rest = getenv("PYTHONPATH");
    set_text(env, "PYTHONPATH", xasprintf("%s%s%s", engine->ports.python_path, rest ? ":" : "", rest ? rest : ""));
}

/* What libstretto needs to find the ranks. */
static void add_stream_env(const struct engine *engine, const struct live_ensemble *ens, json_t *env)
{
    char *fields = json_dumps(ens->spec->fields, JSON_COMPACT), *dir = training_dir(engine, ens->row.id);

    add_python_path(engine, env);
    set_text(env, "STRETTO_STREAM", xasprintf("%s/stream", dir));
    json_object_set_new(env, "STRETTO_STREAM_KEY", json_string(ens->row.stream_key));
    json_object_set_new(env, "STRETTO_FIELDS", json_string(fields));
    free(fields);
    free(dir);
}

static void plan_member(const struct engine *engine, const struct live_job *job, const struct slot *slot,
                        struct job_plan *plan, struct jobdesc_task *task, json_t *examples)
{
    const struct live_ensemble *ens = job->ensemble;
    const struct spec *spec = ens->spec;
    json_t *params = params_at(spec->params, slot->index), *values, *env;
    char *seed, *params_text, *dir;

    if (params == NULL) {
        plan->failed = true;
        return;
    }
    values = json_deep_copy(params);
    seed = xasprintf("%" PRIu64, params_seed(spec->params, slot->index));
    params_text = json_dumps(params, JSON_COMPACT);
    dir = engine_attempt_dir(engine, ens->row.id, slot->index, slot->number);
    json_object_set_new(values, "index", json_integer(slot->index));
    json_object_set_new(values, "seed", json_string(seed));
    json_object_set_new(values, "ensemble", json_integer(ens->row.id));
    json_object_set_new(values, "attempt", json_integer(slot->number));
    env = fill_env(spec->members.env, values);
    set_int(env, "STRETTO_ENSEMBLE", ens->row.id);
    set_int(env, "STRETTO_MEMBER", slot->index);
    set_int(env, "STRETTO_ATTEMPT", slot->number);
    json_object_set_new(env, "STRETTO_PARAMS", json_string(params_text));
    json_object_set_new(env, "STRETTO_SEED", json_string(seed));
    set_text(env, "STRETTO_CHECKPOINT_DIR",
             xasprintf("%s/e%lld/members/%lld/%lld/checkpoint", engine->ports.run_dir, (long long)ens->row.id,
                       (long long)(slot->index / 1000), (long long)slot->index));
    if (ens->training != NULL)
        add_stream_env(engine, ens, env);
    *task = (struct jobdesc_task){
        .id = xasprintf("%lld.%lld", (long long)ens->row.id, (long long)slot->index),
        .dir = dir,
        .argv = fill_array(spec->members.command, values),
        .env = env,
        .path = json_incref(examples),
        .launcher = spec->members.launcher,
        .ntasks = spec->members.resources.tasks,
        .success_file = spec->success_file,
    };
    free(params_text);
    free(seed);
    json_decref(values);
    json_decref(params);
}

/* A training's "python3" is the interpreter that has the packages, which the first on PATH often has not. */
static json_t *training_argv(const struct engine *engine, const struct spec *spec)
{
    json_t *values = json_object(), *argv = fill_array(spec->training.command, values);

    if (engine->ports.python[0] != '\0' && strcmp(json_string_value(json_array_get(argv, 0)), "python3") == 0)
        json_array_set_new(argv, 0, json_string(engine->ports.python));
    json_decref(values);
    return argv;
}

static void plan_rank(const struct engine *engine, const struct live_job *job, const struct slot *slot,
                      struct jobdesc_task *task, json_t *examples)
{
    const struct live_ensemble *ens = job->ensemble;
    json_t *values = json_object(), *env = fill_env(ens->spec->training.env, values);
    char *dir = training_dir(engine, ens->row.id);

    add_python_path(engine, env);
    set_int(env, "STRETTO_ENSEMBLE", ens->row.id);
    set_int(env, "STRETTO_RANK", slot->index);
    set_int(env, "STRETTO_RANKS", job->row.size);
    set_text(env, "STRETTO_TRAINING_DIR", xasprintf("%s/g%lld", dir, (long long)slot->number));
    set_text(env, "STRETTO_STREAM", xasprintf("%s/stream", dir));
    *task = (struct jobdesc_task){
        .id = xasprintf("%lld.training.%lld", (long long)ens->row.id, (long long)slot->index),
        .dir = engine_rank_dir(engine, ens->row.id, slot->number, slot->index),
        .argv = training_argv(engine, ens->spec),
        .env = env,
        .path = json_incref(examples),
        .launcher = ens->spec->training.launcher,
        .ntasks = ens->spec->training.resources.tasks,
    };
    json_decref(values);
    free(dir);
}

static void plan_training(const struct engine *engine, const struct live_job *job, const char *control_key,
                          struct job_plan *plan)
{
    const struct live_ensemble *ens = job->ensemble;
    const struct training_row *training = &ens->training->row;
    const struct spec *spec = ens->spec;
    char *dir = training_dir(engine, ens->row.id), *stream = xasprintf("%s/stream", dir);
    json_t *names = json_array(), *config, *current;

    for (size_t i = 0; i < params_size(spec->params); i++)
        if (params_is_numeric(spec->params, i))
            json_array_append_new(names, json_string(params_name(spec->params, i)));
    config = json_pack("{s:i, s:I, s:I, s:s, s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:o, s:O, s:O}", "version", 1, "ensemble",
                       (json_int_t)ens->row.id, "training", (json_int_t)training->id, "job", job->row.name,
                       "generation", (json_int_t)training->generation, "ranks", (json_int_t)training->ranks, "count",
                       (json_int_t)ens->row.count, "control", engine->ports.control_endpoint, "control_key",
                       control_key, "stream", stream, "stream_key", ens->row.stream_key, "parameters", names, "fields",
                       spec->fields, "buffer", spec->buffer);
    current = json_pack("{s:i, s:I, s:I}", "version", 1, "generation", (json_int_t)training->generation, "ranks",
                        (json_int_t)training->ranks);
    if (!job->adapter->ops->same_host)
        json_object_set_new(config, "network", json_true());
    if (engine->ports.stream_interface != NULL)
        json_object_set_new(config, "interface", json_string(engine->ports.stream_interface));
    add_dir(plan, xstrdup(stream));
    add_dir(plan, xasprintf("%s/g%lld", dir, (long long)training->generation));
    add_file(plan, job, xasprintf("%s/g%lld/training.json", dir, (long long)training->generation), config);
    add_file(plan, job, xasprintf("%s/current.json", stream), current);
    free(stream);
    free(dir);
}

static void free_task(struct jobdesc_task *task)
{
    free((char *)task->id);
    free((char *)task->dir);
    json_decref((json_t *)task->argv);
    json_decref((json_t *)task->env);
    json_decref((json_t *)task->path);
}

void plan_drop(struct job_plan *plan)
{
    for (size_t i = 0; i < plan->n_dirs; i++)
        free(plan->dirs[i]);
    for (size_t i = 0; i < plan->n_files; i++) {
        free(plan->files[i].path);
        json_decref(plan->files[i].json);
    }
    free(plan->dirs);
    free(plan->files);
    free(plan->descriptor);
}

/* Into a file, or for the adapter to hand over. */
static void plan_descriptor(const struct engine *engine, const struct live_job *job, const struct jobdesc *desc,
                            struct job_plan *plan)
{
    json_t *json = jobdesc_build(desc);
    char *dir;

    if (job->adapter->ops->hands_over) {
        plan->descriptor = json_dumps(json, JSON_COMPACT);
        json_decref(json);
        return;
    }
    dir = plan_job_dir(engine, job);
    add_file(plan, job, xasprintf("%s/job.json", dir), json);
    add_dir(plan, dir);
}

void plan_job(const struct engine *engine, const struct live_job *job, struct job_plan *plan)
{
    bool training = job->row.kind == JOB_TRAINING;
    char key[CONTROL_KEY_SIZE];
    const struct spec_task *what = training ? &job->ensemble->spec->training : &job->ensemble->spec->members;
    struct jobdesc desc = {
        .job = job->row.name,
        .ensemble = job->row.ensemble,
        .kind = training ? JOBDESC_TRAINING : JOBDESC_MEMBERS,
        .control = engine->ports.control_endpoint,
        .control_key = key,
        .walltime_ms = what->resources.walltime_ms,
        .grace_ms = what->grace_ms,
        .tmpdir = training || what->tmpdir, /* the ranks' sockets lie there */
        .ntasks = 0,
        .tasks = xcalloc(job->n_slots, sizeof *desc.tasks),
    };
    json_t *examples = engine->ports.examples_dir[0] ? json_pack("[s]", engine->ports.examples_dir) : json_array();

    *plan = (struct job_plan){0};
    control_key_make(engine->store, job->row.name, key);
    if (training)
        plan_training(engine, job, key, plan);
    for (size_t i = 0; i < job->n_slots; i++) {
        if (!job->slots[i].open)
            continue;
        if (training)
            plan_rank(engine, job, &job->slots[i], &desc.tasks[desc.ntasks++], examples);
        else
            plan_member(engine, job, &job->slots[i], plan, &desc.tasks[desc.ntasks++], examples);
    }
    if (!plan->failed)
        plan_descriptor(engine, job, &desc, plan);
    for (size_t i = 0; i < desc.ntasks; i++)
        free_task(&desc.tasks[i]);
    free(desc.tasks);
    json_decref(examples);
}
