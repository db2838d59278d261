#include "tasks/runner/cpus.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int cpu_topology(int id, const char *what)
{
    char path[96];
    int value = 0;
    FILE *f;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/%s", id, what);
    f = fopen(path, "re");
    if (f == NULL)
        return 0;
    if (fscanf(f, "%d", &value) != 1)
        value = 0;
    fclose(f);
    return value;
}

static int by_place(const void *a, const void *b)
{
    const struct cpu *x = a, *y = b;

    if (x->package != y->package)
        return x->package < y->package ? -1 : 1;
    if (x->core != y->core)
        return x->core < y->core ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

void cpus_sort(struct cpu *list, size_t n)
{
    qsort(list, n, sizeof *list, by_place);
}

/* The variables by which batch systems report how many CPUs of a node are a job's. */
static const struct {
    const char *mark, *count;
} says[] = {{"SLURM_JOB_ID", "SLURM_CPUS_ON_NODE"},
            {"PBS_JOBID", "NCPUS"},
            {"PBS_JOBID", "PBS_NUM_PPN"},
            {"ALPS_APP_ID", "ALPS_APP_DEPTH"}};

#define SAYS (sizeof says / sizeof *says)

/* Returns how many CPUs of this node are the job's; 0 if the batch system does not say. */
static long cpus_allotted(void)
{
    for (size_t i = 0; i < SAYS; i++) {
        const char *count = getenv(says[i].mark) != NULL ? getenv(says[i].count) : NULL;
        long n = count != NULL ? strtol(count, NULL, 10) : 0;

        if (n > 0)
            return n;
    }
    return 0;
}

void cpus_disown(void)
{
    for (size_t i = 0; i < SAYS; i++)
        unsetenv(says[i].count);
}

bool cpus_own(struct cpus *cpus)
{
    cpu_set_t set;

    memset(cpus, 0, sizeof *cpus);
    if (sched_getaffinity(0, sizeof set, &set) < 0 || CPU_COUNT(&set) > cpus_allotted())
        return false;
    cpus->list = xcalloc((size_t)CPU_COUNT(&set), sizeof *cpus->list);
    for (int id = 0; id < CPU_SETSIZE; id++)
        if (CPU_ISSET(id, &set))
            cpus->list[cpus->n++] =
                (struct cpu){cpu_topology(id, "physical_package_id"), cpu_topology(id, "core_id"), id};
    cpus_sort(cpus->list, cpus->n);
    return true;
}

void cpus_fini(struct cpus *cpus)
{
    free(cpus->list);
    memset(cpus, 0, sizeof *cpus);
}

size_t cpus_part(size_t n, size_t parts, size_t i, size_t *first)
{
    *first = n * i / parts;
    return n < parts ? 0 : n * (i + 1) / parts - *first;
}
