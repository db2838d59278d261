/* Whether the kernel ended a process of this one's control group for want of memory. Its signal does not tell: it is SIGKILL, as
 * anybody may send. */
#ifndef TASKS_RUNNER_OOM_H
#define TASKS_RUNNER_OOM_H
#include <stdbool.h>
#include <stdint.h>

struct oom {
    char *file;   /* where the kernel counts them; NULL: it tells nobody here */
    int64_t seen;
};

/* From now on. `root` is "" (in tests a directory in place of /). */
void oom_init(struct oom *oom, const char *root);
void oom_fini(struct oom *oom);

/* Whether there is one more such end than it was asked for before: each counts for one call. */
bool oom_struck(struct oom *oom);

#endif
