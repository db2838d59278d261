/* The CPUs that a job has for itself, divided among its tasks: neighbours together, the threads of a core one after the
 * other. If ten trainings share a node, no training is then moved about. Libraries that ask how many CPUs they may use
 * (sched_getaffinity) start one thread for each CPU of their part. */
#ifndef TASKS_RUNNER_CPUS_H
#define TASKS_RUNNER_CPUS_H
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

struct cpu {
    int package, core, id; /* id: the kernel's number */
};

struct cpus {
    size_t n;
    struct cpu *list; /* by package, core, id */
};

/* Lists the CPUs that this process may use, if the batch system gave them to the job alone. That is so if the batch
 * system says how many are the job's, and this process can use no more than these. Otherwise returns false, with an
 * empty list: the batch system does not say, or the CPUs are shared with other jobs, which would be bound to the same
 * ones. */
bool cpus_own(struct cpus *cpus);

/* Makes cpus_own() fail from now on: a daemon in a batch job shares that job's CPUs among its local jobs. */
void cpus_disown(void);

void cpus_fini(struct cpus *cpus);

void cpus_sort(struct cpu *list, size_t n);

/* Gives the i-th of `parts` parts of n: *first and its size, 0 if n is less than `parts`. The parts cover all, and
 * their sizes differ by one at most. */
size_t cpus_part(size_t n, size_t parts, size_t i, size_t *first);

#endif
