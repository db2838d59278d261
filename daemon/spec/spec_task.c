/* Reads the parts that members and trainings share: a command, its environment, its resources. */
#include "daemon/spec/internal.h"

#include "common/jsonx.h"
#include "common/units.h"
#include "daemon/spec/needs.h"
#include "daemon/spec/template.h"
#include "scheduler-adapters/resources.h"

#include <stdio.h>
#include <string.h>

/* Returns whether a launcher may have this placeholder; the daemon and the runner fill it in. */
static bool known_to_launchers(void *params, const char *name)
{
    static const char *const words[] = {"hosts", "hostfile", "master_addr", "master_port"};
    const struct resource *resource = resource_find(name);

    if (resource != NULL && resource->kind == RESOURCE_NUMBER)
        return true;
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

/* Reads one resource, within the limits of the table. */
static int parse_resource(struct adapter_resources *r, const struct resource *one, const json_t *res, const char *at,
                          const struct params *params, struct error *err)
{
    int64_t value = resource_get(r, one);
    bool flag = value != 0;
    int rc = 0;

    switch (one->kind) {
    case RESOURCE_NUMBER: rc = jsonx_int(res, at, one->key, JSONX_OPTIONAL, one->least, one->most, &value, err); break;
    case RESOURCE_SIZE: rc = jsonx_size(res, at, one->key, JSONX_OPTIONAL, &value, err); break;
    case RESOURCE_DURATION: rc = jsonx_duration(res, at, one->key, JSONX_OPTIONAL, one->least, &value, err); break;
    case RESOURCE_FLAG:
        rc = jsonx_bool(res, at, one->key, JSONX_OPTIONAL, &flag, err);
        value = flag;
        break;
    case RESOURCE_NAME: return jsonx_string(res, at, one->key, JSONX_OPTIONAL, resource_name(r, one), err);
    case RESOURCE_WORDS: return jsonx_strings(res, at, one->key, JSONX_OPTIONAL, 0, resource_words(r, one), err);
    case RESOURCE_PROGRAM: return parse_launcher(r, res, at, params, err);
    }
    resource_set(r, one, value);
    return rc;
}

static int check_keys(const json_t *res, const char *at, struct error *err)
{
    const char *keys[RESOURCES_MAX + 1] = {NULL};

    for (size_t i = 0; resource_table[i].key != NULL; i++)
        keys[i] = resource_table[i].key;
    return jsonx_only(res, at, keys, err);
}

int spec_parse_resources(struct spec_task *task, const json_t *obj, const char *at, const struct params *params,
                         struct error *err)
{
    struct adapter_resources *r = &task->resources;
    const json_t *res = NULL;
    char place[256];
    json_t *fixed;
    int rc = 0;

    resources_init(r);
    task->grace_ms = 10000;
    if (jsonx_object(obj, at, "resources", JSONX_OPTIONAL, &res, err) < 0)
        return -1;
    if (res == NULL)
        return 0;
    jsonx_pointer(place, sizeof place, at, "resources");
    if (check_keys(res, place, err) < 0 || (fixed = without_templates(task, res, place, params, err)) == NULL)
        return -1;
    for (const struct resource *one = resource_table; one->key != NULL && rc == 0; one++)
        rc = parse_resource(r, one, fixed, place, params, err);
    json_decref(fixed); /* a value that was taken from it is in `res` as well */
    return rc == 0 && task->needs == NULL ? check_copies(r, place, params == NULL, err) : rc;
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
