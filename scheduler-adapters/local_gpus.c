/* Gives GPUs to jobs. */
#include "scheduler-adapters/local.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void local_gpus_give(struct local_job *job)
{
    struct adapter *a = job->a;
    int64_t left = job->need.gpus;

    for (int64_t i = 0; i < a->have.gpus && left > 0; i++) {
        if (a->gpus[i].job == NULL) {
            a->gpus[i].job = job;
            left--;
        }
    }
}

void local_gpus_note(struct local_job *job, const char *ids)
{
    struct adapter *a = job->a;

    for (const char *id = ids; *id; id += strcspn(id, ","), id += *id == ',') {
        size_t size = strcspn(id, ",");

        for (int64_t i = 0; i < a->have.gpus; i++)
            if (strlen(a->gpus[i].id) == size && strncmp(a->gpus[i].id, id, size) == 0)
                a->gpus[i].job = job;
    }
}

void local_gpus_take_back(struct local_job *job)
{
    for (int64_t i = 0; i < job->a->have.gpus; i++)
        if (job->a->gpus[i].job == job)
            job->a->gpus[i].job = NULL;
}

int64_t local_gpus_free(const struct adapter *a)
{
    int64_t n = 0;

    for (int64_t i = 0; i < a->have.gpus; i++)
        n += a->gpus[i].job == NULL;
    return n;
}

char *local_gpus_option(const struct local_job *job)
{
    char *list = xstrdup("--gpus=");
    bool first = true;

    for (int64_t i = 0; i < job->a->have.gpus; i++) {
        char *longer;

        if (job->a->gpus[i].job != job)
            continue;
        longer = xasprintf("%s%s%s", list, first ? "" : ",", job->a->gpus[i].id);
        free(list);
        list = longer;
        first = false;
    }
    return list;
}
