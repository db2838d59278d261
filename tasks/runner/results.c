/* The directory of a task's results: links to its artefacts, and a list of them that says whose they are. */
#include "tasks/runner/artefacts.h"

#include "common/below.h"
#include "common/files.h"
#include "common/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST ".stretto.json"
#define TEMPORARY ".stretto.new"

/* Reads the list of an earlier attempt. Returns 1 and *list, 0 if there is none, -1 if the directory, or a file
 * in it that would have to be one of ours, is another owner's. */
static int read_list(const char *results, const char *owner, json_t **list, struct error *err)
{
    char *path = xasprintf("%s/" LIST, results);
    const char *whose;
    int saved;

    *list = file_read_json(path, err);
    saved = errno;
    free(path);
    if (*list == NULL)
        return saved == ENOENT ? 0 : -1;
    whose = json_string_value(json_object_get(*list, "member"));
    if (whose != NULL && strcmp(whose, owner) == 0)
        return 1;
    error_set(err, "results", "its results cannot be placed: %.250s has those of member %.60s", results,
              whose != NULL ? whose : "(unknown)");
    json_decref(*list);
    *list = NULL;
    return -1;
}

static bool result_is_listed(const json_t *files, const char *path)
{
    const json_t *item;
    size_t i;

    json_array_foreach ((json_t *)files, i, item)
        if (json_is_string(item) && strcmp(json_string_value(item), path) == 0)
            return true;
    return false;
}

static int write_list(const char *results, const char *owner, const json_t *files, struct error *err)
{
    char *path = xasprintf("%s/" LIST, results);
    json_t *list = json_pack("{s:i, s:s, s:O}", "version", 1, "member", owner, "files", files);
    int rc = file_write_json(path, list, 0600, err);

    json_decref(list);
    free(path);
    return rc;
}

/* Links one artefact. A hard link costs nothing, and stays when the task's directory is removed; if there can be
 * none, such as on another file system, it is a symbolic one. */
static int result_place(const char *dir, const char *name, const char *results, struct error *err)
{
    char *from = xasprintf("%s/%s", dir, name), *to = xasprintf("%s/%s", results, name);
    char *temporary = xasprintf("%s/" TEMPORARY, results), *slash = strrchr(to, '/');
    int rc;

    *slash = '\0';
    rc = dir_make(to, err);
    *slash = '/';
    if (rc == 0) {
        unlink(temporary);
        if ((below_link(dir, name, temporary) < 0 && symlink(from, temporary) < 0) || rename(temporary, to) < 0)
            rc = error_errno(err, "results", "its results cannot be placed: %.250s", to);
        unlink(temporary); /* it is left if both names were links to one file */
    }
    free(temporary);
    free(to);
    free(from);
    return rc;
}

/* Checks that nothing is replaced that is not on the list. */
static int check_free(const char *results, const json_t *files, const json_t *before, struct error *err)
{
    const json_t *item;
    struct stat st;
    size_t i;
    int rc = 0;

    json_array_foreach ((json_t *)files, i, item) {
        char *path = xasprintf("%s/%s", results, json_string_value(item));

        if (rc == 0 && !result_is_listed(before, json_string_value(item)) && lstat(path, &st) == 0)
            rc = error_set(err, "results", "its results cannot be placed: %.250s is there, and not by this member",
                           path);
        free(path);
    }
    return rc;
}

/* Removes what the list of an earlier attempt has, and the new one has not. */
static void remove_stale(const char *results, const json_t *before, const json_t *now)
{
    const json_t *item;
    size_t i;

    json_array_foreach ((json_t *)before, i, item) {
        char *path;

        if (!json_is_string(item) || strstr(json_string_value(item), "..") != NULL ||
            result_is_listed(now, json_string_value(item)))
            continue; /* a name with ".." stays, since nobody knows who wrote it */
        path = xasprintf("%s/%s", results, json_string_value(item));
        unlink(path);
        for (char *slash = strrchr(path, '/'); slash > path + strlen(results); slash = strrchr(path, '/')) {
            *slash = '\0';
            rmdir(path); /* fails if something is in it */
        }
        free(path);
    }
}

int artefacts_check(const char *results, const char *owner, struct error *err)
{
    char *path = xstrdup(results), *slash;
    json_t *list = NULL;
    struct stat st;
    int rc;

    while ((rc = stat(path, &st)) < 0 && errno == ENOENT && (slash = strrchr(path, '/')) > path)
        *slash = '\0'; /* the first directory that is there is to take the others */
    if (rc == 0 && !S_ISDIR(st.st_mode))
        rc = error_set(err, "results", "its results cannot be placed: %.250s is no directory", path);
    else if (rc < 0 || access(path, W_OK | X_OK) < 0)
        rc = error_errno(err, "results", "its results cannot be placed: %.250s", path);
    else if (strcmp(path, results) == 0 && read_list(results, owner, &list, err) < 0)
        rc = -1;
    json_decref(list);
    free(path);
    return rc;
}

int artefacts_place(const char *dir, const json_t *artefacts, const char *results, const char *owner, struct error *err)
{
    json_t *list, *files = json_array(), *both, *item;
    const json_t *before;
    int rc = -1;
    size_t i;

    json_array_foreach ((json_t *)artefacts, i, item)
        json_array_append(files, json_object_get(item, "path"));
    if (read_list(results, owner, &list, err) < 0 || dir_make(results, err) < 0)
        goto out;
    before = json_object_get(list, "files");
    if (check_free(results, files, before, err) < 0)
        goto out;
    both = json_copy(files);
    json_array_foreach ((json_t *)before, i, item)
        if (json_is_string(item) && !result_is_listed(files, json_string_value(item)))
            json_array_append(both, item);
    /* a process that is killed meanwhile leaves nothing that is on no list */
    rc = write_list(results, owner, both, err);
    json_decref(both);
    json_array_foreach (files, i, item)
        rc = rc == 0 ? result_place(dir, json_string_value(item), results, err) : rc;
    if (rc == 0) {
        remove_stale(results, before, files);
        rc = write_list(results, owner, files, err);
    }
out:
    json_decref(list);
    json_decref(files);
    return rc;
}
