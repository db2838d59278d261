/* CPUs that a job has for itself, divided among what runs in it: neighbours together, the threads of a core one after the
 * other. Where ten trainings share a node, none is then moved about, and each library that asks how many CPUs it may use
 * (sched_getaffinity) starts as many threads as are its part. */
#ifndef TASKS_RUNNER_CPUS_H
#define TASKS_RUNNER_CPUS_H
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

struct cpu {
    int package, core, id; /* id: as the kernel numbers them */
};

struct cpus {
    size_t n;
    struct cpu *list; /* by package, core, id */
};

/* Those that this process may use, where the batch system gave them to the job alone: it says how many are the job's, and no
 * more than these can be used. False, with an empty list, where it does not say, or they are shared with other jobs, which
 * would be bound to the same ones. */
bool cpus_own(struct cpus *cpus);

/* From now on it is nobody's alone: a daemon in a batch job shares that job's CPUs among its local jobs. */
void cpus_disown(void);

void cpus_fini(struct cpus *cpus);

void cpus_sort(struct cpu *list, size_t n);

/* The i-th of `parts` parts of n: *first and how many, 0 where there are fewer than parts. Together they are all, and differ by
 * one at most. */
size_t cpus_part(size_t n, size_t parts, size_t i, size_t *first);

#endif
