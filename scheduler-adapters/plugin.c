#include "scheduler-adapters/plugin.h"

#include "common/safe_path.h"
#include "common/xalloc.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define SYMBOL "stretto_adapter"

/* A plugin has all the rights of the daemon: only root and this user may be able to change it. */
static int check_safe(const char *path, struct error *err)
{
    struct error why;

    if (safe_path(path, &why) == 0)
        return 0;
    return error_set(err, strcmp(why.code, "path_not_safe") == 0 ? "plugin_not_safe" : "plugin_unusable", "%s",
                     why.text);
}

/* Checks the version first: other versions may lay out what follows it differently. */
static int check_ops(const char *path, const struct adapter_ops *ops, struct error *err)
{
    if (ops->abi != ADAPTER_ABI)
        return error_set(err, "plugin_wrong_version",
                         "%s was built for version %d of the adapter interface, and this daemon has version %d: it "
                         "must be built anew",
                         path, ops->abi, ADAPTER_ABI);
    if (ops->name == NULL || ops->name[0] == '\0' || strlen(ops->name) > 40 ||
        ops->name[strspn(ops->name, "abcdefghijklmnopqrstuvwxyz0123456789-_")] != '\0')
        return error_set(err, "plugin_unusable", "%s has no usable name: small letters, digits, - and _, at most 40",
                         path);
    if (ops->create == NULL || ops->destroy == NULL || ops->check == NULL || ops->slots == NULL ||
        ops->submit == NULL || ops->poll == NULL || ops->find == NULL || ops->cancel == NULL || ops->signal == NULL)
        return error_set(err, "plugin_unusable",
                         "%s (adapter %s) lacks a method: all but ready, interval_ms, node_slots and withdraw "
                         "are needed",
                         path, ops->name);
    return 0;
}

const struct adapter_ops *plugin_open(const char *path, struct error *err)
{
    const struct adapter_ops *ops;
    void *handle;

    if (check_safe(path, err) < 0)
        return NULL;
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        error_set(err, "plugin_unusable", "%s", dlerror());
        return NULL;
    }
    ops = dlsym(handle, SYMBOL);
    if (ops == NULL)
        error_set(err, "plugin_unusable", "%s is no adapter: it has no \"" SYMBOL "\"", path);
    if (ops != NULL && check_ops(path, ops, err) == 0)
        return ops;
    dlclose(handle);
    return NULL;
}

static int is_object(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);

    return n > 3 && entry->d_name[0] != '.' && strcmp(entry->d_name + n - 3, ".so") == 0;
}

char **plugin_list(const char *dir, struct error *err)
{
    struct dirent **entries;
    char **paths;
    int n;

    if (check_safe(dir, err) < 0)
        return NULL;
    n = scandir(dir, &entries, is_object, alphasort);
    if (n < 0) {
        error_errno(err, "plugin_unusable", "%s", dir);
        return NULL;
    }
    paths = xcalloc((size_t)n + 1, sizeof *paths);
    for (int i = 0; i < n; i++) {
        paths[i] = xasprintf("%s/%s", dir, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return paths;
}
