/* Finds out whether the kernel ended a process of this control group for lack of memory. The signal alone does not show
 * that, since anybody may send SIGKILL. */
#ifndef TASKS_RUNNER_OOM_H
#define TASKS_RUNNER_OOM_H
#include <stdbool.h>
#include <stdint.h>

struct oom {
    char *file; /* the file in which the kernel counts them; NULL: there is none */
    int64_t seen;
};

/* Counts from now on. `root` is "" (in tests a directory in place of /). */
void oom_init(struct oom *oom, const char *root);
void oom_fini(struct oom *oom);

/* Returns whether the kernel ended one more process than this function has returned true for. */
bool oom_struck(struct oom *oom);

#endif
