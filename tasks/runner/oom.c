#include "tasks/runner/oom.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads the line "oom_kill N", which both memory.events (version 2 of control groups) and memory.oom_control (version
 * 1) have. */
static int64_t oom_kill_count(const char *file)
{
    FILE *f = fopen(file, "re");
    long long n = -1;
    char line[256];

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "oom_kill %lld", &n) == 1)
            break;
    if (f != NULL)
        fclose(f);
    return n;
}

/* Returns the file for a line of /proc/self/cgroup, "ID:CONTROLLERS:PATH", to be freed, and what it counts now; NULL
 * if it does not count memory. */
static char *file_of(const char *root, char *line, int64_t *seen)
{
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL, *file;

    if (path == NULL)
        return NULL;
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    if (controllers[1] == '\0')
        file = xasprintf("%s/sys/fs/cgroup%s/memory.events", root, path);
    else if (strstr(controllers, "memory") != NULL)
        file = xasprintf("%s/sys/fs/cgroup/memory%s/memory.oom_control", root, path);
    else
        return NULL;
    *seen = oom_kill_count(file);
    if (*seen >= 0)
        return file;
    free(file);
    return NULL;
}

void oom_init(struct oom *oom, const char *root)
{
    char *groups = xasprintf("%s/proc/self/cgroup", root), line[4096];
    FILE *f = fopen(groups, "re");

    *oom = (struct oom){0};
    while (f != NULL && oom->file == NULL && fgets(line, sizeof line, f) != NULL)
        oom->file = file_of(root, line, &oom->seen);
    if (f != NULL)
        fclose(f);
    free(groups);
}

void oom_fini(struct oom *oom)
{
    free(oom->file);
    oom->file = NULL;
}

bool oom_struck(struct oom *oom)
{
    if (oom->file == NULL || oom_kill_count(oom->file) <= oom->seen)
        return false;
    oom->seen++;
    return true;
}
