#include "daemon/adapters.h"

#include "common/jsonx.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/limits.h"
#include "scheduler-adapters/plugin.h"
#include "scheduler-adapters/registry.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct one {
    struct adapters *all;
    const struct adapter_ops *ops;
    char *path;
    struct adapter_host host;
    struct adapter *adapter;
    json_t *section; /* its section of the settings; NULL if there is none */
};

struct adapters {
    uv_loop_t *loop;
    const struct config *config;
    struct engine *engine;
    struct one **list; /* allocated one by one, since adapters keep pointers to their host */
    size_t n;
    struct adapters_refused *refused;
    size_t n_refused;
};

static void poke(void *arg)
{
    struct one *one = arg;

    engine_poke(one->all->engine, one->adapter);
}

static void duplicate(void *arg, const char *name, const char *scheduler_id)
{
    struct one *one = arg;

    engine_duplicate(one->all->engine, one->adapter, name, scheduler_id);
}

static void say(void *arg, enum adapter_log level, const char *job, const char *sentence)
{
    static const enum log_level levels[] = {LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO};
    const struct one *one = arg;
    struct log_ids ids = {.member = -1, .adapter = one->ops->name, .job = job};

    log_line(level <= ADAPTER_LOG_INFO ? levels[level] : LOG_LEVEL_INFO, &ids, "adapter %s%s%s: %s", one->ops->name,
             job ? ", job " : "", job ? job : "", sentence);
}

/* Checks that the section has no key that the adapter does not list, and --help-config would not print. */
static int check_settings(const struct adapter_ops *ops, const json_t *section, struct error *err)
{
    const char *names[64] = {NULL};
    size_t n = 0;

    if (ops->settings == NULL || section == NULL)
        return 0;
    while (ops->settings[n].name != NULL && n + 1 < sizeof names / sizeof *names) {
        names[n] = ops->settings[n].name;
        n++;
    }
    return jsonx_only(section, "", names, err);
}

static int add_adapter(struct adapters *all, const struct adapter_ops *ops, const char *path, struct error *err)
{
    struct one *one = xcalloc(1, sizeof *one);
    int64_t max_jobs;

    *one = (struct one){.all = all, .ops = ops};
    if (limits_take(all->config->adapters, ops->name, &one->section, &max_jobs, err) < 0) {
        free(one);
        return -1;
    }
    one->host = (struct adapter_host){
        .loop = all->loop,
        .runner = all->config->runner,
        .config = one->section,
        .poke = poke,
        .duplicate = duplicate,
        .log = say,
        .arg = one,
    };
    if (check_settings(ops, one->host.config, err) == 0)
        one->adapter = ops->create(&one->host, err);
    if (one->adapter == NULL) {
        json_decref(one->section);
        free(one);
        return -1;
    }
    one->path = path != NULL ? xstrdup(path) : NULL;
    all->list = xrealloc(all->list, all->n + 1, sizeof *all->list);
    all->list[all->n++] = one;
    engine_add_adapter(all->engine, ops, one->adapter, max_jobs);
    return 0;
}

static const struct one *adapter_by_name(const struct adapters *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->list[i]->ops->name, name) == 0)
            return all->list[i];
    return NULL;
}

static void refuse_plugin(struct adapters *all, const char *path, const struct error *err)
{
    struct adapters_refused *refused;

    log_error("adapter plugin refused: %s (%s)", err->text, err->code);
    all->refused = xrealloc(all->refused, all->n_refused + 2, sizeof *all->refused);
    refused = &all->refused[all->n_refused++];
    *refused = (struct adapters_refused){.path = xstrdup(path), .err = *err};
    refused[1] = (struct adapters_refused){0};
}

static void load(struct adapters *all, const char *path)
{
    struct error err = {0};
    const struct adapter_ops *ops = plugin_open(path, &err);
    const struct one *other = ops != NULL ? adapter_by_name(all, ops->name) : NULL;

    if (other != NULL) {
        error_set(&err, "plugin_name_taken", "%s calls itself \"%s\", as %s does", path, ops->name,
                  other->path != NULL ? other->path : "a built-in adapter");
        ops = NULL;
    } else if (ops != NULL && add_adapter(all, ops, path, &err) < 0) {
        error_set(&err, "plugin_configuration", "%s, by its settings /adapters/%s%s: %s", path, ops->name, err.pointer,
                  err.text);
        ops = NULL;
    }
    if (ops != NULL)
        log_info_of(LOG_ADAPTER(ops->name), "adapter %s is loaded from %s", ops->name, path);
    else
        refuse_plugin(all, path, &err);
}

static void load_all(struct adapters *all, const char *dir)
{
    struct error err;
    char **paths;

    if (access(dir, F_OK) < 0 && !all->config->plugin_dir_chosen)
        return; /* the default folder need not exist */
    paths = plugin_list(dir, &err);
    if (paths == NULL) {
        refuse_plugin(all, dir, &err);
        return;
    }
    for (char **path = paths; *path != NULL; path++) {
        load(all, *path);
        free(*path);
    }
    free(paths);
}

static void warn_of_unused_settings(const struct adapters *all)
{
    const char *name;
    json_t *section;

    json_object_foreach (all->config->adapters, name, section) {
        if (adapter_by_name(all, name) == NULL)
            log_warn("the settings have a section for an adapter \"%s\", which is not here", name);
    }
}

int adapters_create(struct adapters **out, uv_loop_t *loop, const struct config *config, struct engine *engine,
                    struct error *err)
{
    struct adapters *all = *out = xcalloc(1, sizeof *all);

    *all = (struct adapters){.loop = loop, .config = config, .engine = engine};
    all->refused = xcalloc(1, sizeof *all->refused);
    for (size_t i = 0; adapter_registry[i] != NULL; i++)
        if (add_adapter(all, adapter_registry[i], NULL, err) < 0)
            return error_set(err, "config_value", "%s (at /adapters/%s%s)", err->text, adapter_registry[i]->name,
                             err->pointer);
    load_all(all, config->plugin_dir);
    warn_of_unused_settings(all);
    return 0;
}

static void adapter_gone(void *arg)
{
}

void adapters_destroy(struct adapters *all)
{
    for (size_t i = all != NULL ? all->n : 0; i-- > 0;)
        all->list[i]->ops->destroy(all->list[i]->adapter, adapter_gone, NULL);
}

void adapters_free(struct adapters *all)
{
    if (all == NULL)
        return;
    for (size_t i = 0; i < all->n; i++) {
        json_decref(all->list[i]->section);
        free(all->list[i]->path);
        free(all->list[i]);
    }
    for (size_t i = 0; i < all->n_refused; i++)
        free(all->refused[i].path);
    free(all->refused);
    free(all->list);
    free(all);
}

size_t adapters_count(const struct adapters *all)
{
    return all->n;
}

const char *adapters_name(const struct adapters *all, size_t i)
{
    return all->list[i]->ops->name;
}

const char *adapters_path(const struct adapters *all, size_t i)
{
    return all->list[i]->path;
}

const struct adapters_refused *adapters_refused(const struct adapters *all)
{
    return all->refused;
}
