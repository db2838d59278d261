/* The life of an allocation: its nodes come up, one may die alone, all are told to end, or are killed. */
#include "tests/sim/pilots.h"

#include "common/xalloc.h"

#include <stdlib.h>

#define BOOT_MS 3000    /* at most, until a node's pilot is up */
#define SKEW_MS 2000    /* at most, between clocks */
#define DIES_MS 600000  /* an allocation that is lost is lost within this time */

static void flight_over(struct flight *flight)
{
    struct cluster *c = flight->cluster;
    struct cjob *job = flight->job;
    const json_t *task = json_array_get(json_object_get(cluster_get(c, job->dir, "job.json"), "tasks"), 0);

    flight->over = true;
    cluster_put(c, json_string_value(json_object_get(task, "dir")), "exit.json",
                runner_record(c, job->name, job->started_ms, false, task, flight->outcome));
    cluster_put(c, job->dir, "ended.json",
                json_pack("{s:i, s:f}", "version", 1, "time", (double)sim_now(c->sim) / 1000));
    runner_nudge(c, job->name, ENGINE_LOOK_RECORDS);
    cluster_over(c, job);
}

static bool all_gone(const struct flight *flight)
{
    for (int i = 0; i < flight->n_nodes; i++)
        if (!flight->nodes[i].gone)
            return false;
    return true;
}

void pilots_node_gone(struct flight *flight)
{
    if (!flight->over && all_gone(flight))
        flight_over(flight);
}

void pilots_kill(struct flight *flight)
{
    flight->over = true;
    for (int i = 0; i < flight->n_nodes; i++)
        pilots_kill_node(&flight->nodes[i], sim_chance(flight->cluster->sim, 500));
}

void pilots_stop(struct flight *flight, const char *outcome)
{
    if (flight->stopping || flight->over)
        return;
    flight->stopping = true;
    flight->outcome = outcome;
    for (int i = 0; i < flight->n_nodes; i++) {
        struct node *node = &flight->nodes[i];
        struct inner *inner;

        if (!node->up && !node->gone) { /* told before it could write anything */
            node->gone = true;
            continue;
        }
        while (!node->gone && (inner = pilots_queued(node)) != NULL)
            pilots_return(inner, "its allocation was told to end");
        DL_FOREACH (node->jobs, inner)
            if (inner->state == INNER_RUNNING && !node->gone)
                pilots_end(inner, outcome, true);
        pilots_settle(node);
    }
    pilots_node_gone(flight);
}

static void time_is_over(struct sim *sim, void *arg)
{
    pilots_stop(arg, "timeout");
}

/* Kills the pilot of one node, while the others go on; the job's runner learns of it from the launcher that started
 * them. */
static void pilot_dies(struct sim *sim, void *arg)
{
    struct node *node = arg;

    if (node->gone || node->flight->over)
        return;
    pilots_kill_node(node, false);
    node->flight->outcome = "failed";
    pilots_node_gone(node->flight);
}

static void come_up(struct sim *sim, void *arg)
{
    struct node *node = arg;
    json_t *line;

    if (node->gone || node->flight->over)
        return;
    node->up = true;
    node->idle_since = sim_now(sim);
    line = json_pack("{s:s, s:i, s:I, s:I, s:I}", "host", "n1", "pid", 1, "cpus", (json_int_t)node->cpus, "gpus",
                     (json_int_t)node->gpus, "memory", (json_int_t)node->memory);
    if (node->flight->deadline_ms != INT64_MAX)
        json_object_set_new(line, "deadline", json_integer(node->flight->deadline_ms / 1000));
    pilots_say(node, "ready", line);
    pilots_settle(node);
}

static void fails(struct sim *sim, void *arg)
{
    struct flight *flight = arg;

    if (flight->over)
        return;
    for (int i = 0; i < flight->n_nodes; i++)
        pilots_kill_node(&flight->nodes[i], false);
    flight->outcome = "failed";
    flight_over(flight);
}

static int64_t number(const json_t *json, const char *key, int64_t otherwise)
{
    int64_t n = (int64_t)json_number_value(json_object_get(json, key));

    return n > 0 ? n : otherwise;
}

void pilots_start(struct cluster *c, struct cjob *job)
{
    const struct sim_faults *faults = sim_faults_of(c->sim);
    const json_t *config = cluster_get(c, job->dir, "pilot.json");
    int64_t walltime = number(cluster_get(c, job->dir, "job.json"), "walltime", 0), now = sim_now(c->sim);
    struct flight *flight = xcalloc(1, sizeof *flight);

    if (config == NULL)
        sim_violate(c->sim, "allocation %s began before its settings were on disk", job->name);
    flight->cluster = c;
    flight->job = job;
    flight->outcome = "succeeded";
    flight->n_nodes = (int)number(config, "nodes", 1);
    flight->idle_ms = (int64_t)(1000 * json_number_value(json_object_get(config, "idle")));
    flight->least_ms = (int64_t)(1000 * json_number_value(json_object_get(config, "least")));
    flight->deadline_ms = walltime > 0 ? (now + 1000 * walltime) / 1000 * 1000 : INT64_MAX;
    flight->skew_ms = walltime > 0 && faults->lies > 0 ? (int64_t)sim_random(c->sim, 2 * SKEW_MS) - SKEW_MS : 0;
    flight->nodes = xcalloc((size_t)flight->n_nodes, sizeof *flight->nodes);
    LL_PREPEND(c->flights, flight);
    job->flight = flight;
    for (int i = 0; i < flight->n_nodes; i++) {
        struct node *node = &flight->nodes[i];

        *node = (struct node){.flight = flight, .number = i, .dir = xasprintf("%s/node%d", job->dir, i),
                              .inbox = json_object(),
                              .cpus = number(config, "cpus", 1 + (int64_t)sim_random(c->sim, 16)),
                              .gpus = job->gpus / flight->n_nodes,
                              .memory = number(config, "memory", (int64_t)8 << 30)};
        sim_at(c->sim, cluster_soon(c, BOOT_MS), come_up, node);
        if (sim_chance(c->sim, faults->runner_killed / 2))
            sim_at(c->sim, cluster_soon(c, DIES_MS), pilot_dies, node);
    }
    if (sim_chance(c->sim, faults->task_fails))
        sim_at(c->sim, cluster_soon(c, BOOT_MS), fails, flight);
    if (walltime > 0)
        sim_at(c->sim, flight->deadline_ms, time_is_over, flight);
}

void pilots_destroy(struct cluster *c)
{
    struct flight *flight, *next_flight;
    struct inner *inner, *next;

    LL_FOREACH_SAFE (c->flights, flight, next_flight) {
        for (int i = 0; i < flight->n_nodes; i++) {
            DL_FOREACH_SAFE (flight->nodes[i].jobs, inner, next) {
                json_decref(inner->descriptor);
                json_decref(inner->records);
                free(inner->dir);
                free(inner);
            }
            json_decref(flight->nodes[i].inbox);
            free(flight->nodes[i].journal.data);
            free(flight->nodes[i].dir);
        }
        free(flight->nodes);
        free(flight);
    }
}
