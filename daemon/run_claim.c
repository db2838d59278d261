#include "daemon/run_claim.h"

#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/store/ensemble.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOST_MAX 256

static char *owner_path(const char *run_dir)
{
    return xasprintf("%s/owner.json", run_dir);
}

int64_t run_claim_highest(const char *run_dir)
{
    DIR *dir = opendir(run_dir);
    struct dirent *entry;
    int64_t highest = 0;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        long long id;
        char rest;

        if (sscanf(entry->d_name, "e%lld%c", &id, &rest) == 1 && id > highest)
            highest = id;
    }
    if (dir != NULL)
        closedir(dir);
    return highest;
}

void run_claim_drop(const char *run_dir)
{
    char *path = owner_path(run_dir);

    unlink(path);
    free(path);
}

static const char *text_of(const json_t *owner, const char *key)
{
    const char *text = json_string_value(json_object_get(owner, key));

    return text != NULL ? text : "";
}

/* Returns whether the owner is a database that was in this state directory on this host before. Since a state directory
 * has only one daemon at a time, the daemon of that database is gone. */
static bool was_here(const json_t *owner, const char *state_dir, const char *host)
{
    return strcmp(text_of(owner, "state_dir"), state_dir) == 0 && strcmp(text_of(owner, "host"), host) == 0;
}

static int taken(const char *run_dir, const json_t *owner, struct error *err)
{
    return error_set(
        err, "run_dir_taken",
        "the run directory %.200s is that of the daemon with the state directory %.150s on %.60s, whose ensembles have "
        "the same numbers: give another --run-dir, or, if that state directory is gone for good, remove "
        "%.200s/owner.json",
        run_dir, text_of(owner, "state_dir"), text_of(owner, "host"), run_dir);
}

/* Returns 1 if the run directory is ours, 0 if it may be claimed, -1 with err. */
static int look(const char *path, const char *run_dir, const char *instance, const char *state_dir, const char *host,
                struct error *err)
{
    json_t *owner = file_read_json(path, err);
    int rc = 0;

    if (owner == NULL)
        return errno == ENOENT ? 0 : -1;
    if (strcmp(text_of(owner, "database"), instance) == 0)
        rc = 1;
    else if (!was_here(owner, state_dir, host))
        rc = taken(run_dir, owner, err);
    else
        unlink(path);
    json_decref(owner);
    return rc;
}

static int skip_ids(struct store *store, const char *run_dir, struct error *err)
{
    int64_t highest = run_claim_highest(run_dir);

    if (highest == 0)
        return 0;
    return store_ensemble_skip(store, highest, err) < 0 || store_commit(store, err) < 0 ? -1 : 0;
}

int run_claim(struct store *store, const char *run_dir, const char *state_dir, struct error *err)
{
    char *path = owner_path(run_dir), host[HOST_MAX] = "";
    const char *instance = store_instance(store);
    json_t *owner;
    int rc;

    gethostname(host, sizeof host - 1);
    rc = look(path, run_dir, instance, state_dir, host, err);
    if (rc == 0 && skip_ids(store, run_dir, err) < 0)
        rc = -1;
    if (rc == 0) {
        owner = json_pack("{s:s, s:s, s:s}", "database", instance, "state_dir", state_dir, "host", host);
        if (owner == NULL) /* a path is not UTF-8 */
            owner = json_pack("{s:s}", "database", instance);
        if (file_create_json(path, owner, 0600, err) < 0) {
            if (errno == EEXIST) /* another daemon, started at the same moment, was faster */
                rc = look(path, run_dir, instance, state_dir, host, err);
            else
                log_warn("the owner of the run directory cannot be noted in it: %s", err->text);
        }
        json_decref(owner);
    }
    free(path);
    return rc < 0 ? -1 : 0;
}
