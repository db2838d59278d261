#include "daemon/run_claim.h"

#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"
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

/* Notes the highest number in the names of an ensemble's jobs, which end in it; some have ".over" behind. */
static void look_at_jobs(const char *run_dir, const char *ensemble, struct store_extent *there)
{
    char *path = xasprintf("%s/%s/jobs", run_dir, ensemble);
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        long long id;

        if (sscanf(entry->d_name, "st-%*8[0-9a-f]-%lld", &id) == 1 && id > there->job)
            there->job = id;
    }
    if (dir != NULL)
        closedir(dir);
    free(path);
}

void run_claim_extent(const char *run_dir, struct store_extent *there)
{
    DIR *dir = opendir(run_dir);
    struct dirent *entry;

    *there = (struct store_extent){0};
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        long long id;
        char rest;

        if (sscanf(entry->d_name, "e%lld%c", &id, &rest) != 1)
            continue;
        if (id > there->ensemble)
            there->ensemble = id;
        look_at_jobs(run_dir, entry->d_name, there);
    }
    if (dir != NULL)
        closedir(dir);
}

void run_claim_drop(const char *run_dir)
{
    char *path = owner_path(run_dir);

    unlink(path);
    free(path);
}

static const char *owner_text(const json_t *owner, const char *key)
{
    const char *text = json_string_value(json_object_get(owner, key));

    return text != NULL ? text : "";
}

/* Returns whether the owner is a database that was in this state directory on this host before. Since a state directory
 * has only one daemon at a time, the daemon of that database is gone. */
static bool was_here(const json_t *owner, const char *state_dir, const char *host)
{
    return strcmp(owner_text(owner, "state_dir"), state_dir) == 0 && strcmp(owner_text(owner, "host"), host) == 0;
}

static int taken(const char *run_dir, const json_t *owner, struct error *err)
{
    return error_set(
        err, "run_dir_taken",
        "the run directory %.200s is that of the daemon with the state directory %.150s on %.60s, whose ensembles have "
        "the same numbers: give another --run-dir, or, if that state directory is gone for good, remove "
        "%.200s/owner.json",
        run_dir, owner_text(owner, "state_dir"), owner_text(owner, "host"), run_dir);
}

/* Returns 1 if the run directory is ours, 0 if it may be claimed, -1 with err. */
static int look_at_owner(const char *path, const char *run_dir, const char *instance, const char *state_dir,
                         const char *host, struct error *err)
{
    json_t *owner = file_read_json(path, err);
    int rc = 0;

    if (owner == NULL)
        return errno == ENOENT ? 0 : -1;
    if (strcmp(owner_text(owner, "database"), instance) == 0)
        rc = 1;
    else if (!was_here(owner, state_dir, host))
        rc = taken(run_dir, owner, err);
    else
        unlink(path);
    json_decref(owner);
    return rc;
}

bool run_claim_was_here(const char *run_dir, const char *state_dir)
{
    char *path = owner_path(run_dir), host[HOST_MAX] = "";
    struct error err;
    json_t *owner = file_read_json(path, &err);
    bool was;

    gethostname(host, sizeof host - 1);
    was = owner != NULL && was_here(owner, state_dir, host);
    json_decref(owner);
    free(path);
    return was;
}

int run_claim_whose(struct store *store, const char *run_dir, const char *state_dir, enum run_claim_owner *whose,
                    struct error *err)
{
    char *path = owner_path(run_dir), host[HOST_MAX] = "";
    json_t *owner = file_read_json(path, err);
    int rc = owner == NULL && errno != ENOENT ? -1 : 0;

    gethostname(host, sizeof host - 1);
    if (owner == NULL)
        *whose = RUN_CLAIM_NOBODY;
    else if (strcmp(owner_text(owner, "database"), store_instance(store)) == 0)
        *whose = RUN_CLAIM_OURS;
    else
        *whose = was_here(owner, state_dir, host) ? RUN_CLAIM_FORMER : RUN_CLAIM_OTHER;
    json_decref(owner);
    free(path);
    return rc;
}

int run_claim(struct store *store, const char *run_dir, const char *state_dir, struct error *err)
{
    char *path = owner_path(run_dir), host[HOST_MAX] = "";
    const char *instance = store_instance(store);
    json_t *owner;
    int rc;

    gethostname(host, sizeof host - 1);
    rc = look_at_owner(path, run_dir, instance, state_dir, host, err);
    if (rc == 0) {
        owner = json_pack("{s:s, s:s, s:s}", "database", instance, "state_dir", state_dir, "host", host);
        if (owner == NULL) /* a path is not UTF-8 */
            owner = json_pack("{s:s}", "database", instance);
        if (file_create_json(path, owner, 0600, err) < 0) {
            if (errno == EEXIST) /* another daemon, started at the same moment, was faster */
                rc = look_at_owner(path, run_dir, instance, state_dir, host, err);
            else
                log_warn("the owner of the run directory cannot be noted in it: %s", err->text);
        } else {
            rc = 1;
        }
        json_decref(owner);
    }
    free(path);
    return rc;
}
