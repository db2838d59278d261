/* The shape of an aprun: how many processes it starts, and where. */
#include "scheduler-adapters/alps.h"

#include <string.h>

#define MIB (1 << 20)

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static void spread_processes(struct alps_shape *shape, int64_t n, int64_t nodes)
{
    shape->n = n;
    shape->each = divide_up(n, nodes < n ? nodes : n);
    shape->nodes = divide_up(n, shape->each); /* 4 processes on 3 nodes become 2 on each of 2 nodes */
}

void alps_shape(const struct adapter *a, const struct adapter_resources *want, struct alps_shape *shape)
{
    bool by_aprun =
        want->launcher != NULL && (strcmp(want->launcher, "aprun") == 0 || strcmp(want->launcher, a->aprun) == 0);
    int64_t mib = divide_up(want->memory, MIB);

    if (by_aprun || want->each_node) {
        *shape = (struct alps_shape){.kind = ALPS_LAUNCHES,
                                     .depth = want->whole_nodes && want->each_node ? 0 : want->cpus_per_task,
                                     .mib = divide_up(mib, want->tasks),
                                     .pilots = want->each_node};
        spread_processes(shape, want->tasks, want->nodes);
    } else if (want->copies > 1 && want->tasks == 1 && !want->together) {
        *shape = (struct alps_shape){.kind = ALPS_RANKS, .depth = want->cpus_per_task, .mib = mib};
        spread_processes(shape, want->copies, want->nodes);
    } else {
        *shape = (struct alps_shape){
            .kind = ALPS_ONE,
            .mib = mib * want->copies,
            .depth = want->whole_nodes ? 0 : (int64_t)want->copies * want->tasks * want->cpus_per_task};
        spread_processes(shape, 1, 1);
    }
}

int alps_check_nodes(const struct adapter *a, struct error *err)
{
    if (a->n_nodes > 0)
        return 0;
    return error_at(err, "resources_impossible", "",
                    "no nodes are known: the daemon runs in no allocation of Cobalt, Slurm or PBS that names them, and "
                    "the setting adapters.alps.nids does not");
}

int alps_check_room(const struct adapter *a, const struct adapter_resources *want, struct error *err)
{
    struct alps_shape shape;

    alps_shape(a, want, &shape);
    if (alps_check_nodes(a, err) < 0)
        return -1;
    if (want->nodes > (int64_t)a->n_nodes)
        return error_at(err, "resources_impossible", "/nodes", "%d nodes are wanted: the allocation has %zu",
                        want->nodes, a->n_nodes);
    if (a->cpus > 0 && want->cpus_per_task > a->cpus)
        return error_at(err, "resources_impossible", "/cpus_per_task", "%d CPUs are wanted: a node has %lld",
                        want->cpus_per_task, (long long)a->cpus);
    if (a->cpus > 0 && shape.each * shape.depth > a->cpus)
        return error_at(err, "resources_impossible", "/tasks", "%lld CPUs of a node are wanted: it has %lld",
                        (long long)(shape.each * shape.depth), (long long)a->cpus);
    return 0;
}

int alps_check(struct adapter *a, const struct adapter_resources *want, struct error *err)
{
    struct alps_shape shape;

    alps_shape(a, want, &shape);
    if (shape.kind == ALPS_LAUNCHES && want->launch != NULL)
        return error_at(
            err, "resources_impossible", "/launcher",
            "aprun is called by the adapter, which adds the nodes that it has: write \"aprun\", and its other "
            "options into \"extra\"");
    if (shape.kind == ALPS_LAUNCHES && want->copies > 1)
        return error_at(err, "resources_impossible", "/launcher",
                        "%d members are to share a job: those that aprun starts cannot, since a node has one "
                        "application at a time",
                        want->copies);
    if (shape.kind == ALPS_ONE && want->nodes > 1)
        return error_at(err, "resources_impossible", "/nodes",
                        "%d nodes are wanted: a program has several by the launcher \"aprun\", members of one process "
                        "by \"pack\", and an allocation without a \"launcher\" of its own",
                        want->nodes);
    if (alps_check_room(a, want, err) < 0)
        return -1;
    return alps_check_options(want->extra, "resources_impossible", err);
}
