#include "tasks/runner/aside.h"

#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_empty(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    bool empty = true;

    while (dir != NULL && empty && (entry = readdir(dir)) != NULL)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (dir != NULL)
        closedir(dir);
    return empty;
}

/* Returns whether the daemon has given this job up. That is all that a directory can have of its own job before a task
 * is started. */
static bool is_given_up(const char *path, const char *job)
{
    char *record = xasprintf("%s/exit.json", path);
    struct error err;
    json_t *fence = file_read_json(record, &err);
    const char *name = json_string_value(json_object_get(fence, "job"));
    bool ours = name != NULL && strcmp(name, job) == 0;

    json_decref(fence);
    free(record);
    return ours;
}

/* Moves a directory aside, under a name that nothing has yet, which is returned; NULL with err. */
static char *directory_set_aside(const char *path, const char *job, struct error *err)
{
    for (int n = 1;; n++) {
        char *aside = n == 1 ? xasprintf("%s.before-%s", path, job) : xasprintf("%s.before-%s-%d", path, job, n);

        if (rename(path, aside) == 0)
            return aside;
        if (errno != ENOTEMPTY && errno != EEXIST) {
            error_errno(err, "task_dir", "%s cannot be moved to %s", path, aside);
            free(aside);
            return NULL;
        }
        free(aside);
    }
}

/* Returns the length of ENSEMBLE in ENSEMBLE/jobs/JOB; 0 if the job is in no such place. */
static size_t ensemble_length(const char *jobdir)
{
    static const char jobs[] = "/jobs";
    const char *name = strrchr(jobdir, '/');
    size_t n = name != NULL ? (size_t)(name - jobdir) : 0, last = sizeof jobs - 1;

    return jobdir[0] == '/' && n > last && strncmp(name - last, jobs, last) == 0 ? n - last : 0;
}

/* Returns whether the path is below the first `length` characters of the job's directory. */
static bool aside_is_below(const char *path, const char *jobdir, size_t length)
{
    return length > 0 && strncmp(path, jobdir, length) == 0 && path[length] == '/' && path[length + 1] != '\0' &&
           strstr(path + length, "/..") == NULL;
}

int aside_set(const char *jobdir, const struct jobdesc *desc, struct error *err)
{
    size_t length = ensemble_length(jobdir);

    for (size_t i = 0; i < desc->ntasks; i++) {
        const char *path = desc->tasks[i].dir;
        char *aside;
        int rc;

        if (!aside_is_below(path, jobdir, length) || is_empty(path) || is_given_up(path, desc->job))
            continue;
        aside = directory_set_aside(path, desc->job, err);
        rc = aside == NULL ? -1 : dir_make(path, err);
        if (rc == 0)
            log_warn("task %s: %s had files of another job, which are now in %s", desc->tasks[i].id, path, aside);
        free(aside);
        if (rc < 0)
            return -1;
    }
    return 0;
}
