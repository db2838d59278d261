#include "tasks/runner/done.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

bool task_is_done(const struct task *t)
{
    const char *dir = json_string_value(json_object_get(t->desc->env, "STRETTO_TRAINING_DIR"));
    const char *rank = json_string_value(json_object_get(t->desc->env, "STRETTO_RANK"));
    struct stat st;
    char *path;
    bool there;

    if (dir == NULL || rank == NULL)
        return false;
    path = xasprintf("%s/done-rank%s.json", dir, rank);
    there = stat(path, &st) == 0;
    free(path);
    return there;
}
