/* Why jobs do not run yet: what their schedulers say with each answer, for those who ask. */
#include "daemon/engine/internal.h"

#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

#define JOBS_MAX 1000 /* of an ensemble that are looked at */

void job_note_waits_for(struct live_job *job, const char *words)
{
    if (job->waits_for != NULL ? strcmp(job->waits_for, words) == 0 : words[0] == '\0')
        return;
    free(job->waits_for);
    job->waits_for = words[0] != '\0' ? xstrdup(words) : NULL;
}

/* One that runs may have told us so before its scheduler did. One that is not submitted yet may wait to be accepted. */
static const char *words_of(const struct live_job *job)
{
    return job != NULL && (job->row.state == JOB_INTENT || job->row.state == JOB_SUBMITTED) && job->waits_for != NULL ? job->waits_for : "";
}

const char *engine_job_waits_for(struct engine *engine, int64_t id)
{
    return words_of(engine_find_job(engine, id));
}

const char *engine_members_wait_for(struct engine *engine, int64_t id)
{
    const struct live_ensemble *ens = engine_find_ensemble(engine, id);
    const char *first = "";
    int looked_at = 0;

    if (ens == NULL)
        return "";
    for (const struct live_job *job = ens->jobs; job != NULL && looked_at < JOBS_MAX; job = job->ens_next, looked_at++) {
        if (job->row.kind == JOB_TRAINING)
            continue;
        if (job->row.state == JOB_RUNNING)
            return "";
        if (first[0] == '\0')
            first = words_of(job);
    }
    return first;
}

const char *engine_training_waits_for(struct engine *engine, int64_t id)
{
    const struct live_ensemble *ens = engine_find_ensemble(engine, id);

    return ens != NULL && ens->training != NULL ? words_of(ens->training->job) : "";
}
