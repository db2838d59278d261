#include "tasks/runner/environment.h"

#include "common/xalloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct task_environment {
    char **list; /* ended by NULL */
    size_t n;
};

/* clang-format off */
static const char *const not_handed_on[] = {
    "STRETTO_ALIVE", "STRETTO_ALIVE_MS", "STRETTO_METRICS", "STRETTO_ALLOCATION_END", "STRETTO_ATTEMPT",
    "STRETTO_CHECKPOINT_BEFORE", "STRETTO_CHECKPOINT_DIR", "STRETTO_CHECKPOINT_SIGNAL", "STRETTO_DEADLINE",
    "STRETTO_ENSEMBLE", "STRETTO_FAILURE_AFTER_MS", "STRETTO_FIELDS", "STRETTO_GPUS", "STRETTO_HOSTFILE",
    "STRETTO_HOSTS", "STRETTO_JOB", "STRETTO_JOB_END", "STRETTO_KEPT", "STRETTO_MEMBER", "STRETTO_NTASKS",
    "STRETTO_PARAMS", "STRETTO_RANK", "STRETTO_RANKS", "STRETTO_RESTART", "STRETTO_RESUME",
    "STRETTO_SEED", "STRETTO_STEPS", "STRETTO_STREAM", "STRETTO_STREAM_GENERATION",
    "STRETTO_STREAM_KEY", "STRETTO_STREAM_MARKS", "STRETTO_RUNNER", "STRETTO_TASK", "STRETTO_TMPDIR", "STRETTO_TOKEN",
    "STRETTO_TRAINING_DIR", "STRETTO_UNTIL",
    "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE",
};
/* clang-format on */

static bool entry_names(const char *entry, const char *name)
{
    size_t len = strlen(name);

    return entry[0] == name[0] && strncmp(entry, name, len) == 0 && entry[len] == '=';
}

static void environment_append(struct task_environment *env, char *entry)
{
    env->list = xrealloc(env->list, env->n + 2, sizeof *env->list);
    env->list[env->n++] = entry;
    env->list[env->n] = NULL;
}

struct task_environment *environment_create(void)
{
    struct task_environment *env = xcalloc(1, sizeof *env);

    env->list = xcalloc(1, sizeof *env->list);
    for (char **entry = environ; *entry != NULL; entry++) {
        size_t i, n = sizeof not_handed_on / sizeof *not_handed_on;

        for (i = 0; i < n && !entry_names(*entry, not_handed_on[i]); i++)
            ;
        if (i == n)
            environment_append(env, xstrdup(*entry));
    }
    return env;
}

void environment_destroy(struct task_environment *env)
{
    if (env == NULL)
        return;
    for (size_t i = 0; i < env->n; i++)
        free(env->list[i]);
    free(env->list);
    free(env);
}

void environment_set(struct task_environment *env, const char *name, const char *value)
{
    char *entry = xasprintf("%s=%s", name, value);

    for (size_t i = 0; i < env->n; i++) {
        if (entry_names(env->list[i], name)) {
            free(env->list[i]);
            env->list[i] = entry;
            return;
        }
    }
    environment_append(env, entry);
}

const char *environment_get(const struct task_environment *env, const char *name)
{
    for (size_t i = 0; i < env->n; i++)
        if (entry_names(env->list[i], name))
            return env->list[i] + strlen(name) + 1;
    return NULL;
}

char **environment_list(const struct task_environment *env)
{
    return env->list;
}
