/* Jobs on their way to the batch system. */
#include "scheduler-adapters/batch.h"

#include "common/xalloc.h"
#include "scheduler-adapters/batch_known.h"
#include "scheduler-adapters/resources.h"

#include <stdio.h>
#include <stdlib.h>

struct batch_submission *batch_submission_new(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb,
                                              void *arg)
{
    const struct batch_known *known = batch_known_find(a, job->name);
    struct batch_submission *s;

    if (known != NULL && known->gone == 0) {
        answers_submit(a->answers, cb, arg, ADAPTER_OK, known->id, NULL);
        return NULL;
    }
    if (a->no_runner.text[0] != '\0') {
        answers_submit(a->answers, cb, arg, ADAPTER_REFUSED, NULL, &a->no_runner);
        return NULL;
    }
    s = xcalloc(1, sizeof *s);
    *s = (struct batch_submission){.a = a, .cb = cb, .arg = arg, .job = *job};
    snprintf(s->name, sizeof s->name, "%s", job->name);
    s->job.name = s->name;
    s->job.scheduler_id = s->job.descriptor = NULL;
    s->job.dir = s->dir = xstrdup(job->dir);
    resources_keep(&s->job.resources);
    batch_busy(a);
    return s;
}

void batch_submission_end(struct batch_submission *s, enum adapter_answer answer, const char *id,
                          const struct error *err)
{
    struct adapter *a = s->a;

    if (answer == ADAPTER_OK)
        batch_known_add(a, s->name, id);
    answers_submit(a->answers, s->cb, s->arg, answer, id, err);
    free(s->dir);
    resources_release(&s->job.resources);
    free(s);
    batch_idle(a);
}
