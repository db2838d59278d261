/* The invariants of the lists of hosts: a host has left its list before its processes are told to end. */
#include "daemon/engine/memory/core.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/job.h"
#include "daemon/store/job.h"
#include "tests/sim/sim.h"

#include <stdio.h>
#include <string.h>

static int64_t slots_of(json_t *hosts)
{
    json_t *item;
    int64_t sum = 0;
    size_t i;

    json_array_foreach (hosts, i, item)
        sum += json_integer_value(json_object_get(item, "slots"));
    json_decref(hosts);
    return sum;
}

void watch_hosts_cancelled(struct sim *sim, const char *name)
{
    struct engine *engine = sim_engine(sim);
    const struct live_job *job = engine_find_job(engine, engine_parse_job_name(name));

    if (job == NULL || job->row.kind == JOB_PILOT)
        return;
    if (job->row.kind == JOB_TRAINING && slots_of(engine_training_hosts(engine, job->row.ensemble)) != 0)
        sim_violate(sim, "job %s of a training is cancelled, and its hosts are still in the list", name);
    for (size_t i = 0; i < job->n_slots && job->row.kind == JOB_MEMBERS; i++)
        if (slots_of(engine_member_hosts(engine, job->row.id, job->slots[i].index)) != 0)
            sim_violate(sim, "job %s is cancelled, and the hosts of member %lld are still in its list", name,
                        (long long)job->slots[i].index);
}

void watch_hosts_written(struct sim *sim, const char *path, const char *text)
{
    struct engine *engine = sim_engine(sim);
    const char *end = strrchr(path, '/');
    long long ensemble;
    json_t *json;

    if (end == NULL || strcmp(end, "/last.json") != 0 ||
        sscanf(path + strlen(engine->ports.run_dir), "/e%lld/", &ensemble) != 1)
        return;
    json = json_loads(text, 0, NULL);
    if (slots_of(engine_training_hosts(engine, ensemble)) > json_integer_value(json_object_get(json, "ranks")))
        sim_violate(sim, "the ranks of ensemble %lld are asked to end, and the list of hosts has as many as before",
                    ensemble);
    json_decref(json);
}
