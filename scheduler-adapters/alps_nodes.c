/* The table of nodes: a node has one application at a time. */
#include "scheduler-adapters/alps.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MAX_MS 60000 /* the longest pause before ALPS is asked again for a node that it thinks taken */

size_t alps_nodes_free(const struct adapter *a, uint64_t now, uint64_t *next)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n_nodes; i++) {
        const struct alps_node *node = &a->node[i];

        if (node->job == NULL && node->not_before > now)
            *next = node->not_before < *next ? node->not_before : *next;
        else if (node->job == NULL)
            n++;
    }
    return n;
}

/* Returns the free node with the fewest refusals: of several nodes that ALPS refused together perhaps only one was at
 * fault. */
static struct alps_node *best(const struct adapter *a, uint64_t now)
{
    struct alps_node *found = NULL;

    for (size_t i = 0; i < a->n_nodes; i++) {
        struct alps_node *node = &a->node[i];

        if (node->job == NULL && node->not_before <= now && (found == NULL || node->wait_ms < found->wait_ms))
            found = node;
    }
    return found;
}

void alps_nodes_take(struct alps_job *job, size_t n, uint64_t now)
{
    struct adapter *a = job->a;
    struct alps_node *node;
    char *longer;

    free(job->nids);
    job->nids = xstrdup("");
    while (n-- > 0 && (node = best(a, now)) != NULL) {
        node->job = job;
        longer = xasprintf("%s%s%d", job->nids, job->nids[0] ? "," : "", node->nid);
        free(job->nids);
        job->nids = longer;
    }
}

void alps_nodes_take_again(struct alps_job *job, const char *nids)
{
    struct adapter *a = job->a;
    size_t n = 0;
    int *nid = NULL;

    free(job->nids);
    job->nids = xstrdup(nids);
    if (alps_nids_parse(nids, &nid, &n) < 0)
        return;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < a->n_nodes; i++)
            if (a->node[i].nid == nid[k] && a->node[i].job == NULL)
                a->node[i].job = job;
    free(nid);
}

void alps_nodes_leave(struct alps_job *job, bool refused)
{
    struct adapter *a = job->a;

    for (size_t i = 0; i < a->n_nodes; i++) {
        struct alps_node *node = &a->node[i];

        if (node->job != job)
            continue;
        node->job = NULL;
        node->wait_ms = !refused ? 0 : node->wait_ms == 0 ? (uint64_t)a->pause_ms : 2 * node->wait_ms;
        node->wait_ms = node->wait_ms < WAIT_MAX_MS ? node->wait_ms : WAIT_MAX_MS;
        node->not_before = refused ? uv_now(a->host.loop) + node->wait_ms : 0;
    }
}

void alps_nodes_lost(struct adapter *a, int nid)
{
    for (size_t i = 0; i < a->n_nodes; i++) {
        if (a->node[i].nid != nid || a->node[i].job != NULL)
            continue;
        a->node[i].wait_ms = WAIT_MAX_MS;
        a->node[i].not_before = uv_now(a->host.loop) + WAIT_MAX_MS;
    }
}

void alps_nodes_name(const char *nids, char *host, size_t size)
{
    int *nid;
    size_t n;

    host[0] = '\0';
    if (nids == NULL || alps_nids_parse(nids, &nid, &n) < 0)
        return;
    snprintf(host, size, "nid%05d", nid[0]);
    free(nid);
}
