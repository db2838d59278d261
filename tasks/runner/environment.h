/* The environment of a task: the runner's own, without variables of another task, plus the descriptor's. */
#ifndef TASKS_RUNNER_ENVIRONMENT_H
#define TASKS_RUNNER_ENVIRONMENT_H
#include <stddef.h>

struct task_environment;

/* Returns a copy of `environ` without the variables that only make sense for one task, and without the user's token. A
 * daemon that was itself started by a task, or from a shell with a token, must not pass these on. */
struct task_environment *environment_create(void);
void environment_destroy(struct task_environment *env);

void environment_set(struct task_environment *env, const char *name, const char *value);
const char *environment_get(const struct task_environment *env, const char *name); /* NULL if unset */

/* Returns the list for execve(); borrowed. */
char **environment_list(const struct task_environment *env);

#endif
