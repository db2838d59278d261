/* Keeps why jobs do not run yet: the words of their schedulers in each answer. */
#include "daemon/engine/jobs/waiting.h"

#include "common/text.h"
#include "common/xalloc.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOBS_MAX 1000 /* of an ensemble that are looked at */

void job_note_waits_for(struct live_job *job, const char *words)
{
    if (job->told.waits_for != NULL ? strcmp(job->told.waits_for, words) == 0 : words[0] == '\0')
        return;
    free(job->told.waits_for);
    job->told.waits_for = words[0] != '\0' ? xstrdup(words) : NULL;
}

const char *job_words(const struct live_job *job)
{
    /* files may report before the scheduler does */
    return (job->row.state < JOB_RUNNING || job->told.back > 0) && job->told.waits_for != NULL ? job->told.waits_for
                                                                                               : "";
}

void engine_job_waits_for(struct engine *engine, int64_t id, char *out, size_t size)
{
    const struct live_job *job = engine_find_job(engine, id);
    char sentence[400];

    text_copy(out, size, job != NULL ? job_words(job) : "");
    if (job == NULL || out[0] != '\0' || job->row.state != JOB_INTENT || job_is_asked(job) || job_is_inside(job))
        return;
    adapter_describe(engine, job->adapter, sentence, sizeof sentence);
    snprintf(out, size, "it is not known whether it was submitted: %s", sentence);
}

const struct live_job *waiting_job(const struct live_ensemble *ens)
{
    const struct live_job *words = NULL, *queued = NULL;
    int looked_at = 0;

    for (const struct live_job *job = ens->jobs; job != NULL && looked_at < JOBS_MAX;
         job = job->ens_next, looked_at++) {
        if (job->row.kind == JOB_TRAINING)
            continue;
        if (job->row.state == JOB_RUNNING && job->told.back == 0)
            return NULL;
        if (words == NULL && job_words(job)[0] != '\0')
            words = job;
        if (queued == NULL && job->row.state == JOB_SUBMITTED)
            queued = job;
    }
    return words != NULL ? words : queued;
}

void engine_training_waits_for(struct engine *engine, int64_t id, char *out, size_t size)
{
    const struct live_ensemble *ens = engine_find_ensemble(engine, id);

    out[0] = '\0';
    if (ens != NULL && ens->training != NULL && ens->training->job != NULL)
        engine_job_waits_for(engine, ens->training->job->row.id, out, size);
}

bool engine_training_waits(struct engine *engine, int64_t id, double *for_samples, double *for_room)
{
    const struct live_ensemble *ens = engine_find_ensemble(engine, id);

    if (ens == NULL || ens->training == NULL || ens->training->row.state != TRAINING_RUNNING ||
        !ens->training->waits.known)
        return false;
    *for_samples = ens->training->waits.for_samples;
    *for_room = ens->training->waits.for_room;
    return true;
}
