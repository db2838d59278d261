/* The orders that a pilot gets through its inbox, and its reports in the journal, as files. */
#include "tests/sim/pilots.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCAN_MS 5000 /* between looks into an inbox without a notification */

static struct inner *named(const struct node *node, const char *name)
{
    struct inner *inner;

    DL_FOREACH (node->jobs, inner)
        if (inner->state != INNER_ENDED && strcmp(inner->name, name) == 0) /* a pilot forgets a job that has ended */
            return inner;
    return NULL;
}

static void enqueue(struct node *node, const char *name, json_t *order)
{
    struct inner *inner = named(node, name);

    if (inner != NULL) {
        if (inner->state == INNER_RETURNED)
            pilots_return(inner, "handed over again");
        return;
    }
    inner = xcalloc(1, sizeof *inner);
    snprintf(inner->name, sizeof inner->name, "%s", name);
    inner->node = node;
    inner->dir = xstrdup(json_string_value(json_object_get(order, "dir")));
    inner->descriptor = json_incref(json_object_get(order, "descriptor"));
    inner->cpus = json_integer_value(json_object_get(order, "cpus"));
    inner->gpus = json_integer_value(json_object_get(order, "gpus"));
    inner->memory = json_integer_value(json_object_get(order, "memory"));
    inner->least_ms = (int64_t)(1000 * json_number_value(json_object_get(order, "least")));
    DL_APPEND(node->jobs, inner);
}

static void take_order(struct node *node, json_t *order)
{
    const char *name = json_string_value(json_object_get(order, "job"));
    const char *cancelled = json_string_value(json_object_get(order, "cancel"));
    struct inner *inner = cancelled != NULL ? named(node, cancelled) : NULL;

    if (name != NULL)
        enqueue(node, name, order);
    else if (cancelled == NULL)
        sim_violate(node->flight->cluster->sim, "an order that is none");
    else if (inner != NULL && inner->state == INNER_QUEUED)
        pilots_return(inner, "cancelled");
    else if (inner != NULL && inner->state == INNER_RUNNING)
        pilots_end(inner, "cancelled", false);
}

static void take_file(struct node *node, const char *text)
{
    char *copy = xstrdup(text), *rest = NULL;

    for (char *line = strtok_r(copy, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        json_t *order = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

        take_order(node, order);
        json_decref(order);
    }
    free(copy);
}

/* Takes the files of the inbox in the order of their names. */
static void scan(struct sim *sim, void *arg)
{
    struct node *node = arg;

    if (node->gone || node->flight->stopping)
        return;
    while (json_object_size(node->inbox) > 0) {
        const char *name, *first = NULL;
        json_t *text;

        json_object_foreach (node->inbox, name, text)
            if (first == NULL || strcmp(name, first) < 0)
                first = name;
        take_file(node, json_string_value(json_object_get(node->inbox, first)));
        json_object_del(node->inbox, first);
    }
    pilots_settle(node);
}

static struct node *find_node(struct sim *sim, const char *path, const char *rest)
{
    for (int i = 0; i < SIM_ADAPTERS; i++) {
        struct flight *flight;

        LL_FOREACH (sim_cluster(sim, i)->flights, flight)
            for (int n = 0; n < flight->n_nodes; n++) {
                size_t len = strlen(flight->nodes[n].dir);

                if (strncmp(path, flight->nodes[n].dir, len) == 0 && strncmp(path + len, rest, strlen(rest)) == 0)
                    return &flight->nodes[n];
            }
    }
    return NULL;
}

bool pilots_take(struct sim *sim, const char *path, const char *text)
{
    const char *at = strstr(path, "/inbox/");
    struct node *node = at != NULL ? find_node(sim, path, "/inbox/") : NULL;

    if (at == NULL)
        return false;
    if (node == NULL || !node->up) {
        sim_violate(sim, "%s was written, and there is no such node", path);
        return true;
    }
    if (json_object_get(node->inbox, at) != NULL)
        sim_violate(sim, "%s was written twice", path);
    json_object_set_new(node->inbox, at, json_string(text));
    sim_at(sim, cluster_soon(node->flight->cluster, sim_chance(sim, 800) ? 20 : SCAN_MS), scan, node);
    return true;
}

const struct text *pilots_journal(struct sim *sim, const char *path)
{
    struct node *node = find_node(sim, path, "/journal.jsonl");

    return node != NULL && node->up ? &node->journal : NULL;
}

const struct flight *pilots_of(struct sim *sim, const char *job)
{
    for (int i = 0; i < SIM_ADAPTERS; i++) {
        struct flight *flight;

        LL_FOREACH (sim_cluster(sim, i)->flights, flight)
            if (strcmp(flight->job->name, job) == 0)
                return flight;
    }
    return NULL;
}
