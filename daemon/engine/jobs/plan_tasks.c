/* Plans the tasks of a job's descriptor, each with its arguments and its environment. */
#include "daemon/engine/jobs/plan_tasks.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/jobs/plan.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/paths.h"
#include "daemon/engine/memory/slot.h"
#include "daemon/engine/memory/training.h"
#include "daemon/spec/needs.h"
#include "daemon/spec/paths.h"
#include "daemon/spec/results.h"
#include "daemon/spec/sizes.h"
#include "daemon/spec/template.h"
#include "daemon/store/job.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct planner {
    const struct engine *engine;
    const struct live_job *job;
    struct jobdesc_text *out;
    struct text scratch;               /* for one argument or value at a time */
    json_t *path;                      /* of every task */
    const struct template_word *words; /* of the one at hand; NULL: it has none */
    size_t bytes;                      /* of its arguments and environment so far, as the kernel counts them */
    char refused[sizeof((struct plan_refusal *)0)->reason]; /* why it can never be started; "": it can */
};

/* Counts one more argument or variable of so many bytes. Returns whether the task stays within the limits. */
static bool task_fits(struct planner *p, size_t size, const char *what)
{
    p->bytes += size + 1 + SIZES_POINTER;
    if (p->refused[0] != '\0')
        return false;
    if (size > SIZES_STRING_MAX)
        snprintf(p->refused, sizeof p->refused, "%s has more than the %zu bytes that a program can be given", what,
                 SIZES_STRING_MAX);
    else if (p->bytes > SIZES_TOTAL_MAX)
        snprintf(p->refused, sizeof p->refused,
                 "its arguments and environment have more than the %zu bytes that a program can be given",
                 SIZES_TOTAL_MAX);
    return p->refused[0] == '\0';
}

static void put_arg(struct planner *p, const char *value)
{
    if (task_fits(p, strlen(value), "an argument"))
        jobdesc_arg(p->out, value);
}

static void put_variable(struct planner *p, const char *name, const char *value)
{
    if (task_fits(p, strlen(name) + 1 + strlen(value), "a variable of its environment"))
        jobdesc_env(p->out, name, value);
}

static void put_env(struct planner *p, const char *name, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void put_env(struct planner *p, const char *name, const char *fmt, ...)
{
    char small[256], *text = small, *large = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    if ((size_t)n >= sizeof small) {
        va_start(ap, fmt);
        if (vasprintf(&large, fmt, ap) < 0)
            abort(); /* no memory, as xmalloc() does */
        va_end(ap);
        text = large;
    }
    put_variable(p, name, text);
    free(large);
}

static void put_env_number(struct planner *p, const char *name, int64_t n)
{
    char digits[TEXT_DIGITS];

    text_digits(digits, n);
    put_variable(p, name, digits);
}

/* The filled text into p->scratch. Rows may lack what a placeholder reaches for, which is known only now. */
static bool task_fill(struct planner *p, const json_t *template, const json_t *values, const char *what)
{
    const char *text = json_string_value(template);
    char name[TEMPLATE_NAME_MAX + 1];

    if (values != NULL && params_are_rows(p->job->ensemble->spec->params) &&
        !template_is_full(text, p->words, values, name)) {
        if (p->refused[0] == '\0')
            snprintf(p->refused, sizeof p->refused, "nothing fills {%.60s} in %s", name, what);
        return false;
    }
    return template_fill(&p->scratch, text, p->words, values, SIZES_STRING_MAX) == 0 ||
           task_fits(p, SIZES_STRING_MAX + 1, what);
}

static void put_arguments(struct planner *p, const json_t *templates, const json_t *values, const char *program)
{
    const json_t *item;
    size_t i;

    json_array_foreach (templates, i, item) {
        if (!task_fill(p, item, values, "an argument"))
            return;
        put_arg(p, i == 0 && program != NULL ? program : p->scratch.data);
    }
}

/* `import stretto` finds our package, before anything that the spec, or who started the daemon, put there. */
static void put_python_path(struct planner *p, const char *rest)
{
    put_env(p, "PYTHONPATH", "%s%s%s", p->engine->ports.python_path, rest ? ":" : "", rest ? rest : "");
}

/* Adds the spec's own variables, and the path of the Python package for programs that use it. */
static void put_spec_env(struct planner *p, const json_t *templates, const json_t *values, bool package)
{
    bool python = package && p->engine->ports.python_path[0] != '\0';
    const char *name;
    json_t *value;

    json_object_foreach ((json_t *)templates, name, value) {
        if (!task_fill(p, value, values, "a variable of its environment"))
            return;
        if (python && strcmp(name, "PYTHONPATH") == 0) {
            put_python_path(p, p->scratch.data);
            python = false;
        } else {
            put_variable(p, name, p->scratch.data);
        }
    }
    if (python)
        put_python_path(p, getenv("PYTHONPATH"));
}

/* Adds the variables by which libstretto finds the ranks. */
static void put_stream_env(struct planner *p)
{
    const struct live_ensemble *ens = p->job->ensemble;
    char *fields = json_dumps(ens->spec->fields, JSON_COMPACT), *dir = engine_training_dir(p->engine, ens->row.id);

    put_env(p, "STRETTO_STREAM", "%s/stream", dir);
    put_variable(p, "STRETTO_STREAM_KEY", ens->row.stream_key);
    put_env_number(p, "STRETTO_STREAM_GENERATION", ens->training->row.keeps);
    put_env_number(p, "STRETTO_FAILURE_AFTER_MS", ens->spec->failure_after_ms);
    if (ens->spec->steps > 0)
        put_env_number(p, "STRETTO_STEPS", ens->spec->steps);
    put_variable(p, "STRETTO_FIELDS", fields);
    free(fields);
    free(dir);
}

/* The arguments to go on from a checkpoint; which one it is, the runner fills in. A new reference. */
static json_t *resume_arguments(struct planner *p, const json_t *values)
{
    const json_t *templates = p->job->ensemble->spec->checkpoint.resume, *item;
    json_t *filled = json_array();
    size_t i;

    json_array_foreach ((json_t *)templates, i, item) {
        if (!task_fill(p, item, values, "an argument") || !task_fits(p, p->scratch.size, "an argument"))
            break;
        json_array_append_new(filled, json_string(p->scratch.data));
    }
    return filled;
}

/* The directory for links to the member's artefacts, to be freed; NULL: the spec wants none. */
static char *results_of(struct planner *p, int64_t index, const json_t *values)
{
    const struct live_ensemble *ens = p->job->ensemble;
    char *path, *whole;
    struct error err;

    if (ens->spec->results == NULL)
        return NULL;
    path = spec_results_of(ens->spec, index, values, &err);
    if (path == NULL) {
        snprintf(p->refused, sizeof p->refused, "%.150s", err.text);
        return NULL;
    }
    whole = engine_results_path(p->engine, engine_checkpoint_home(ens), path);
    free(path);
    return whole;
}

/* Fills a path of the spec for a member. Returns NULL if there is none, or if it is the same for all members. To be
 * freed. */
static char *task_path(struct planner *p, const char *path, const json_t *values)
{
    struct error err = {0};
    char *filled;

    if (!spec_path_varies(path))
        return NULL;
    filled = spec_fill_path(path, p->words, values, &err);
    if (filled == NULL && p->refused[0] == '\0')
        snprintf(p->refused, sizeof p->refused, "%.180s", err.text);
    return filled;
}

/* Fills the patterns of artefacts in the same way. Returns a new reference. */
static json_t *artefacts_of(struct planner *p, const json_t *values)
{
    const json_t *patterns = p->job->ensemble->spec->artefacts, *pattern;
    json_t *filled = json_array();
    bool varies = false;
    size_t i;

    json_array_foreach ((json_t *)patterns, i, pattern) {
        char *path = task_path(p, json_string_value(pattern), values);

        varies = varies || path != NULL;
        json_array_append_new(filled, path != NULL ? json_string(path) : json_incref((json_t *)pattern));
        free(path);
    }
    if (varies)
        return filled;
    json_decref(filled);
    return NULL;
}

/* The launcher's words; hosts and the like, the runner fills in. A new reference, NULL if it is no list. */
static json_t *launcher_words(struct planner *p, const struct adapter_resources *r, const json_t *values)
{
    char nodes[TEXT_DIGITS], tasks[TEXT_DIGITS], cpus[TEXT_DIGITS], gpus[TEXT_DIGITS];
    /* clang-format off */
    struct template_word words[24] = {
        {"nodes", nodes}, {"tasks", tasks}, {"cpus_per_task", cpus}, {"gpus", gpus},
        {"hosts", "{hosts}"}, {"hostfile", "{hostfile}"},
        {"master_addr", "{master_addr}"}, {"master_port", "{master_port}"},
    };
    /* clang-format on */
    const struct template_word *own = p->words;
    json_t *filled = NULL, *item;
    size_t i, n = 8;

    if (r->launch == NULL)
        return NULL;
    text_digits(nodes, r->nodes);
    text_digits(tasks, r->tasks);
    text_digits(cpus, r->cpus_per_task);
    text_digits(gpus, r->gpus);
    for (i = 0; own != NULL && own[i].name != NULL && n < sizeof words / sizeof *words - 1; i++)
        words[n++] = own[i];
    p->words = words;
    filled = json_array();
    json_array_foreach ((json_t *)r->launch, i, item) {
        if (!task_fill(p, item, values, "an argument of its launcher") ||
            !task_fits(p, p->scratch.size, "an argument of its launcher"))
            break;
        json_array_append_new(filled, json_string(p->scratch.data));
    }
    p->words = own;
    return filled;
}

/* `resume` and `results` are taken over. */
static void task_begin(struct planner *p, const struct spec_task *task, const json_t *values, char *id, char *dir,
                       json_t *resume, char *results, const struct slot *slot)
{
    const struct adapter_resources *r = job_resources(p->job);
    json_t *launch = launcher_words(p, r, values);
    const struct spec *spec = p->job->ensemble->spec;
    int64_t until = slot != NULL ? spec_rung_until(spec, slot->rung) : 0;
    const char *success = slot != NULL ? spec->success_file : NULL;
    char *file = task_path(p, success, values),
         *glob = slot != NULL ? task_path(p, spec->checkpoint.glob, values) : NULL;
    char *metrics = slot != NULL ? task_path(p, spec->metrics.file, values) : NULL;
    json_t *artefacts = slot != NULL ? artefacts_of(p, values) : NULL;
    char owner[2 * TEXT_DIGITS + 1] = "";

    if (results != NULL)
        snprintf(owner, sizeof owner, "%lld.%lld", (long long)engine_checkpoint_home(p->job->ensemble),
                 (long long)slot->index);
    jobdesc_task_begin(p->out, &(const struct jobdesc_task){
                                   .id = id,
                                   .dir = dir,
                                   .path = p->path,
                                   .launcher = launch == NULL ? r->launcher : NULL,
                                   .launch = launch,
                                   .ntasks = r->tasks,
                                   .nodes = r->nodes,
                                   .success_file = file != NULL ? file : success,
                                   .glob = glob,
                                   .metrics_file = metrics,
                                   .artefacts = artefacts,
                                   .results = results,
                                   .owner = results != NULL ? owner : NULL,
                                   .resume = resume,
                                   .since = slot != NULL ? slot->since : 0,
                                   .since_in = slot != NULL ? slot->since_in : 0,
                                   .until = until,
                                   .last = until > 0 && spec_rung_is_last(spec, slot->rung),
                               });
    json_decref(launch);
    json_decref(resume);
    json_decref(artefacts);
    free(file);
    free(glob);
    free(metrics);
    free(results);
    free(id);
    free(dir);
}

/* Refuses a member whose own resources are invalid, or more than this batch system can ever give. */
static void check_resources(struct planner *p, const json_t *values)
{
    struct adapter_resources r;
    struct error err = {0};
    bool pointed;

    if (p->job->own == NULL)
        return;
    if (needs_fill(p->job->ensemble->spec, values, &r, &err) == 0) {
        r.copies = (int)p->job->row.size;
        if (p->job->adapter->ops->check(p->job->adapter->adapter, &r, &err) == 0)
            return;
    }
    pointed = strncmp(err.pointer, "/members", 8) == 0; /* that of an adapter is no place in the spec */
    snprintf(p->refused, sizeof p->refused, "%.140s%s%.40s", err.text, pointed ? ", at " : "",
             pointed ? err.pointer : "");
}

static int put_member(struct planner *p, const struct slot *slot)
{
    const struct live_ensemble *ens = p->job->ensemble;
    const struct spec *spec = ens->spec;
    int64_t id = ens->row.id, index = slot->index, goes_to = spec_rung_until(spec, slot->rung);
    json_t *values = params_at(spec->params, index), *resume = NULL;
    char whose[TEXT_DIGITS], which[TEXT_DIGITS], attempt[TEXT_DIGITS], seed[24], until[TEXT_DIGITS], *checkpoints;
    struct template_word words[] = {
        {"index", which},
        {"seed", seed},
        {"ensemble", whose},
        {"attempt", attempt},
        {json_object_get(values, "python") != NULL ? "" : "python", /* a parameter of that name stays what it is */
         p->engine->ports.python[0] ? p->engine->ports.python : "python3"},
        /* a parameter of that name stays what it is; there is no such placeholder if members are not stopped
         * early */
        {goes_to == 0 || json_object_get(values, "until") != NULL ? "" : "until", until},
        {spec->checkpoint.resume != NULL ? "checkpoint" : NULL, "{checkpoint}"},
        {NULL, NULL},
    };
    struct text params = {0};

    if (values == NULL)
        return -1;
    check_resources(p, values);
    text_json(&params, values);
    text_digits(whose, id);
    text_digits(which, index);
    text_digits(attempt, slot->number);
    text_digits(until, goes_to);
    snprintf(seed, sizeof seed, "%" PRIu64, params_seed(spec->params, index));
    p->words = words;
    if (spec->checkpoint.resume != NULL)
        resume = resume_arguments(p, values);
    words[6].name = NULL; /* which is for those alone */
    task_begin(p, &spec->members, values, xasprintf("%s.%s", whose, which),
               engine_attempt_dir(p->engine, id, index, slot->number), resume, results_of(p, index, values), slot);
    put_arguments(p, spec->members.command, values, NULL);
    put_spec_env(p, spec->members.env, values, true);
    p->words = NULL;
    put_variable(p, "STRETTO_ENSEMBLE", whose);
    put_variable(p, "STRETTO_MEMBER", which);
    put_variable(p, "STRETTO_ATTEMPT", attempt);
    put_variable(p, "STRETTO_PARAMS", params.data);
    put_variable(p, "STRETTO_SEED", seed);
    if (goes_to > 0)
        put_variable(p, "STRETTO_UNTIL", until);
    checkpoints = engine_checkpoint_dir(p->engine, ens, index);
    put_variable(p, "STRETTO_CHECKPOINT_DIR", checkpoints);
    free(checkpoints);
    if (ens->training != NULL)
        put_stream_env(p);
    jobdesc_task_end(p->out);
    free(params.data);
    json_decref(values);
    return 0;
}

/* A training's "python3" is the interpreter that has the packages, which the first on PATH often has not. */
static const char *training_program(const struct planner *p)
{
    const json_t *command = p->job->ensemble->spec->training.command;
    bool python = strcmp(json_string_value(json_array_get(command, 0)), "python3") == 0;

    return python && p->engine->ports.python[0] != '\0' ? p->engine->ports.python : NULL;
}

static void put_rank(struct planner *p, const struct slot *slot)
{
    const struct live_ensemble *ens = p->job->ensemble;
    const struct spec_task *task = &ens->spec->training;
    long long id = ens->row.id, rank = slot->index;
    char *dir = engine_training_dir(p->engine, id);
    json_t *values = json_object();

    task_begin(p, task, values, xasprintf("%lld.training.%lld", id, rank),
               engine_rank_dir(p->engine, id, slot->number, rank), NULL, NULL, NULL);
    put_arguments(p, task->command, values, training_program(p));
    put_spec_env(p, task->env, values, true);
    put_env_number(p, "STRETTO_ENSEMBLE", id);
    put_env_number(p, "STRETTO_RANK", rank);
    put_env_number(p, "STRETTO_RANKS", p->job->row.size);
    put_env_number(p, "STRETTO_FAILURE_AFTER_MS", ens->spec->failure_after_ms);
    put_env(p, "STRETTO_TRAINING_DIR", "%s/g%lld", dir, (long long)slot->number);
    put_env(p, "STRETTO_STREAM", "%s/stream", dir);
    if (ens->spec->training_checkpoint.signal != 0)
        put_env_number(p, "STRETTO_CHECKPOINT_SIGNAL", ens->spec->training_checkpoint.signal);
    jobdesc_task_end(p->out);
    json_decref(values);
    free(dir);
}

/* The runner once more, which stays and takes jobs. */
static void put_pilot(struct planner *p)
{
    long long id = p->job->row.ensemble;
    char *dir = engine_job_dir(p->engine, p->job), *name = xasprintf("%lld.pilot", id),
         *own = xasprintf("%s/pilot", dir);

    jobdesc_task_begin(p->out,
                       &(const struct jobdesc_task){
                           .id = name, .dir = own, .ntasks = p->job->ensemble->spec->allocation.resources.nodes});
    put_arg(p, p->engine->ports.runner);
    put_arg(p, "--pilot");
    put_arg(p, dir);
    jobdesc_task_end(p->out);
    free(dir);
    free(name);
    free(own);
}

static int put_task(struct planner *p, const struct slot *slot)
{
    if (p->job->row.kind == JOB_MEMBERS)
        return put_member(p, slot);
    if (p->job->row.kind == JOB_TRAINING)
        put_rank(p, slot);
    else
        put_pilot(p);
    return 0;
}

static void plan_refuse_slot(struct job_plan *plan, size_t slot, const char *reason)
{
    struct plan_refusal *refusal;

    plan->refused = xrealloc(plan->refused, plan->n_refused + 1, sizeof *plan->refused);
    refusal = &plan->refused[plan->n_refused++];
    refusal->slot = slot;
    snprintf(refusal->reason, sizeof refusal->reason, "it can never be started: %.170s", reason);
}

int plan_tasks(const struct engine *engine, const struct live_job *job, struct jobdesc_text *out, struct job_plan *plan)
{
    struct planner p = {.engine = engine, .job = job, .out = out};
    int rc = 0;

    p.path = engine->ports.examples_dir[0] ? json_pack("[s]", engine->ports.examples_dir) : json_array();
    for (size_t i = 0; i < job->n_slots && rc == 0; i++) {
        struct jobdesc_text before = *out;

        if (!job->slots[i].open)
            continue;
        p.bytes = 0;
        p.refused[0] = '\0';
        rc = put_task(&p, &job->slots[i]);
        if (p.refused[0] == '\0' && out->text.size > FILE_JSON_MAX)
            snprintf(p.refused, sizeof p.refused,
                     "the tasks of its job have more than the %zu bytes that a runner reads: pack fewer",
                     FILE_JSON_MAX);
        if (p.refused[0] == '\0')
            continue;
        plan_refuse_slot(plan, i, p.refused);
        out->text.size = before.text.size; /* without it */
        out->tasks = before.tasks;
    }
    json_decref(p.path);
    free(p.scratch.data);
    return rc;
}
