/* Reads the parts that members and trainings share: a command, its environment, its resources. */
#include "daemon/spec/internal.h"

#include "common/jsonx.h"
#include "common/units.h"
#include "daemon/spec/needs.h"
#include "daemon/spec/template.h"

#include <stdio.h>
#include <string.h>

/* Returns whether a launcher may have this placeholder; the daemon and the runner fill it in. */
static bool known_to_launchers(void *params, const char *name)
{
    static const char *const words[] = {"nodes", "tasks",    "cpus_per_task", "gpus",
                                        "hosts", "hostfile", "master_addr",   "master_port"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return spec_known_placeholder(params, name);
}

/* Reads `launcher`: a program, or a list of its words. */
static int parse_launcher(struct adapter_resources *r, const json_t *res, const char *at, const struct params *params,
                          struct error *err)
{
    const json_t *launcher = json_object_get(res, "launcher"), *item;
    char place[256], item_place[300];
    size_t i;

    jsonx_pointer(place, sizeof place, at, "launcher");
    if (!json_is_array(launcher)) {
        if (jsonx_string(res, at, "launcher", JSONX_OPTIONAL, &r->launcher, err) < 0)
            return -1;
        if (r->launcher != NULL && r->launcher[0] == '\0')
            return error_at(err, "spec_impossible_value", place, "the launcher's name must not be empty");
        return 0;
    }
    if (jsonx_strings(res, at, "launcher", JSONX_REQUIRED, 1, &r->launch, err) < 0)
        return -1;
    r->launcher = json_string_value(json_array_get(r->launch, 0));
    json_array_foreach (r->launch, i, item) {
        snprintf(item_place, sizeof item_place, "%s/%zu", place, i);
        if (i == 0 && (json_string_length(item) == 0 || strcmp(r->launcher, SPEC_COPIES) == 0))
            return error_at(err, "spec_impossible_value", item_place, "a launcher begins with the name of a program%s",
                            json_string_length(item) > 0 ? "; write \"copies\" without a list" : "");
        if (template_check(json_string_value(item), known_to_launchers, (void *)params, item_place, err) < 0)
            return -1;
    }
    return 0;
}

/* Checks what "copies" can do. */
static int check_copies(const struct adapter_resources *r, const char *at, bool training, struct error *err)
{
    char place[256];

    if (r->launcher == NULL || strcmp(r->launcher, SPEC_COPIES) != 0)
        return 0;
    if (training)
        return error_at(err, "spec_impossible_value", jsonx_pointer(place, sizeof place, at, "launcher"),
                        "a training's command is started once for each of its \"ranks\"");
    if (r->tasks < r->nodes)
        return error_at(err, "spec_impossible_value", jsonx_pointer(place, sizeof place, at, "tasks"),
                        "%d tasks cannot be on %d nodes: \"copies\" starts at least one on each", r->tasks, r->nodes);
    return 0;
}

static bool known_parameter(void *params, const char *name)
{
    return params != NULL && params_reach(params, name);
}

/* Returns a copy of the resources without those that depend on parameters, which the task notes; NULL with err. */
static json_t *without_templates(struct spec_task *task, const json_t *res, const char *at, const struct params *params,
                                 struct error *err)
{
    json_t *fixed = json_copy((json_t *)res), *value;
    char place[256];
    const char *key;

    json_object_foreach ((json_t *)res, key, value) {
        if (params == NULL || !needs_is_template(key, value))
            continue;
        if (template_check(json_string_value(value), known_parameter, (void *)params,
                           jsonx_pointer(place, sizeof place, at, key), err) < 0) {
            json_decref(fixed);
            return NULL;
        }
        json_object_del(fixed, key);
        task->needs = res;
    }
    return fixed;
}

static int parse_fixed(struct spec_task *task, const json_t *res, const char *place, const struct params *params,
                       struct error *err)
{
    int64_t nodes = 1, tasks = 1, cpus = 1, gpus = 0;
    struct adapter_resources *r = &task->resources;

    if (jsonx_int(res, place, "nodes", JSONX_OPTIONAL, 1, 1000000, &nodes, err) < 0 ||
        jsonx_int(res, place, "tasks", JSONX_OPTIONAL, 1, 100000, &tasks, err) < 0 ||
        jsonx_int(res, place, "cpus_per_task", JSONX_OPTIONAL, 1, 10000, &cpus, err) < 0 ||
        jsonx_int(res, place, "gpus", JSONX_OPTIONAL, 0, 10000, &gpus, err) < 0 ||
        jsonx_size(res, place, "memory", JSONX_OPTIONAL, &r->memory, err) < 0 ||
        jsonx_duration(res, place, "walltime", JSONX_OPTIONAL, 1000, &r->walltime_ms, err) < 0 ||
        jsonx_string(res, place, "queue", JSONX_OPTIONAL, &r->queue, err) < 0 ||
        jsonx_string(res, place, "account", JSONX_OPTIONAL, &r->account, err) < 0 ||
        parse_launcher(r, res, place, params, err) < 0 ||
        jsonx_strings(res, place, "extra", JSONX_OPTIONAL, 0, &r->extra, err) < 0 ||
        jsonx_bool(res, place, "tmpdir", JSONX_OPTIONAL, &task->tmpdir, err) < 0)
        return -1;
    r->nodes = (int)nodes;
    r->tasks = (int)tasks;
    r->cpus_per_task = (int)cpus;
    r->gpus = (int)gpus;
    return task->needs == NULL ? check_copies(r, place, params == NULL, err) : 0;
}

int spec_parse_resources(struct spec_task *task, const json_t *obj, const char *at, const struct params *params,
                         struct error *err)
{
    static const char *const keys[] = {"nodes", "tasks",   "cpus_per_task", "gpus",  "memory", "walltime",
                                       "queue", "account", "launcher",      "extra", "tmpdir", NULL};
    struct adapter_resources *r = &task->resources;
    const json_t *res = NULL;
    char place[256];
    json_t *fixed;
    int rc;

    *r = (struct adapter_resources){.nodes = 1, .tasks = 1, .cpus_per_task = 1, .copies = 1};
    task->grace_ms = 10000;
    if (jsonx_object(obj, at, "resources", JSONX_OPTIONAL, &res, err) < 0)
        return -1;
    if (res == NULL)
        return 0;
    jsonx_pointer(place, sizeof place, at, "resources");
    if (jsonx_only(res, place, keys, err) < 0 || (fixed = without_templates(task, res, place, params, err)) == NULL)
        return -1;
    rc = parse_fixed(task, fixed, place, params, err);
    json_decref(fixed); /* a value that was taken from it is in `res` as well */
    return rc;
}

bool spec_known_placeholder(void *arg, const char *name)
{
    static const char *const built_in[] = {"index", "seed", "ensemble", "attempt", "python"};
    const struct params *params = arg;

    if (params == NULL)
        return false;
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++)
        if (strcmp(built_in[i], name) == 0)
            return true;
    return params_reach(params, name) || params_knows(params, name);
}

static int check_task_env(const json_t *env, const char *at, const struct params *params, struct error *err)
{
    const char *name;
    json_t *value;
    char place[256];

    json_object_foreach ((json_t *)env, name, value) {
        jsonx_pointer(place, sizeof place, at, name);
        if (!json_is_string(value))
            return error_at(err, "spec_wrong_type", place, "the variable \"%s\" must be a string, not %s", name,
                            jsonx_type_name(value));
        if (name[0] == '\0' || strchr(name, '=') != NULL || strncmp(name, "STRETTO_", 8) == 0)
            return error_at(err, "spec_impossible_value", place,
                            "\"%s\" cannot be set: names are not empty, have no =, and STRETTO_ is stretto's own",
                            name);
        if (template_check(json_string_value(value), spec_known_placeholder, (void *)params, place, err) < 0)
            return -1;
    }
    return 0;
}

static int parse_output(struct spec_task *task, const json_t *obj, const char *at, struct error *err)
{
    const char *output = "split";
    char place[256];

    if (jsonx_string(obj, at, "output", JSONX_OPTIONAL, &output, err) < 0)
        return -1;
    task->merged = strcmp(output, "merged") == 0;
    if (!task->merged && strcmp(output, "split") != 0)
        return error_at(err, "spec_impossible_value", jsonx_pointer(place, sizeof place, at, "output"),
                        "unknown output \"%.60s\"; known: split, merged", output);
    return 0;
}

int spec_parse_command(struct spec_task *task, const json_t *obj, const char *at, const struct params *params,
                       struct error *err)
{
    char place[256], item_place[256];
    const json_t *item;
    unsigned mask;
    size_t i;

    if (jsonx_strings(obj, at, "command", JSONX_REQUIRED, 1, &task->command, err) < 0 ||
        jsonx_object(obj, at, "env", JSONX_OPTIONAL, &task->env, err) < 0)
        return -1;
    jsonx_pointer(place, sizeof place, at, "command");
    json_array_foreach (task->command, i, item) {
        snprintf(item_place, sizeof item_place, "%.200s/%zu", place, i);
        if (i == 0 && json_string_length(item) == 0)
            return error_at(err, "spec_impossible_value", item_place, "the program's name must not be empty");
        if (template_check(json_string_value(item), spec_known_placeholder, (void *)params, item_place, err) < 0)
            return -1;
    }
    jsonx_pointer(place, sizeof place, at, "env");
    if (task->env != NULL && check_task_env(task->env, place, params, err) < 0)
        return -1;
    if (jsonx_string(obj, at, "umask", JSONX_OPTIONAL, &task->umask, err) < 0)
        return -1;
    if (task->umask != NULL && umask_parse(task->umask, &mask) < 0)
        return error_at(err, "spec_impossible_value", jsonx_pointer(place, sizeof place, at, "umask"),
                        "\"%.40s\" is no umask; write \"0027\", \"0022\" or the like: octal digits, which take nothing "
                        "from the owner",
                        task->umask);
    return parse_output(task, obj, at, err);
}

int spec_parse_silence(struct spec_task *task, const json_t *obj, const char *at, struct error *err)
{
    char place[256];

    if (jsonx_duration(obj, at, "silence", JSONX_OPTIONAL, 1000, &task->silence_ms, err) < 0)
        return -1;
    if (task->silence_ms > 0 && task->resources.nodes > 1)
        return error_at(err, "spec_impossible_value", jsonx_pointer(place, sizeof place, at, "silence"),
                        "\"silence\" is only for one node: one of %d nodes cannot tell whether processes on the others "
                        "still compute",
                        task->resources.nodes);
    return 0;
}
