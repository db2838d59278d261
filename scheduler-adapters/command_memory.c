/* The memory that a command and its children have in use. */
#include "scheduler-adapters/command_memory.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define CHILDREN_DEPTH 4 /* a command may be a script of a site that runs another */

static int64_t memory_of_tree(int pid, int depth);

/* The memory of the processes that a thread, in /proc/PID/task/TID, has started. */
static int64_t memory_of_children(const char *task, const char *tid, int depth)
{
    char path[PATH_MAX];
    int64_t sum = 0;
    FILE *f;
    int pid;

    snprintf(path, sizeof path, "%s/%s/children", task, tid);
    f = fopen(path, "re");
    while (f != NULL && fscanf(f, "%d", &pid) == 1)
        sum += memory_of_tree(pid, depth - 1);
    if (f != NULL)
        fclose(f);
    return sum;
}

/* Returns the bytes that a process and its descendants have in use; 0 if it is gone. */
static int64_t memory_of_tree(int pid, int depth)
{
    char path[64];
    long long pages = 0;
    int64_t sum = 0;
    struct dirent *entry;
    DIR *dir;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/statm", pid);
    f = fopen(path, "re");
    if (f != NULL && fscanf(f, "%*s %lld", &pages) == 1)
        sum = (int64_t)pages * sysconf(_SC_PAGESIZE);
    if (f != NULL)
        fclose(f);
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    dir = depth > 0 ? opendir(path) : NULL;
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.')
            sum += memory_of_children(path, entry->d_name, depth);
    if (dir != NULL)
        closedir(dir);
    return sum;
}

int64_t command_memory(int pid)
{
    return memory_of_tree(pid, CHILDREN_DEPTH);
}
