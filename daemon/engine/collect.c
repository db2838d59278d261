/* Learning how the tasks of a job ended, from the records in the run directory alone. */
#include "daemon/engine/pilot.h"

#include "common/log.h"
#include "common/text.h"
#include "common/xalloc.h"
#include "tasks/proto/exitrec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The files of one collection, in this order: claim, ended, then one exit record for each open slot. A brief one, of a job
 * whose start and end the scheduler told, leaves out the first two. */
enum { FILE_CLAIM, FILE_ENDED, FILE_FIRST_EXIT };

static char *slot_dir(const struct engine *engine, const struct live_job *job, const struct slot *slot)
{
    char *job_dir = job->row.kind == JOB_PILOT ? engine_job_dir(engine, job) : NULL, *dir;

    if (job_dir != NULL) {
        dir = xasprintf("%s/pilot", job_dir);
        free(job_dir);
        return dir;
    }
    return job->row.kind == JOB_TRAINING
               ? engine_rank_dir(engine, job->row.ensemble, slot->number, slot->index)
               : engine_attempt_dir(engine, job->row.ensemble, slot->index, slot->number);
}

static void task_id(const struct live_job *job, const struct slot *slot, char out[64])
{
    if (job->row.kind == JOB_PILOT) {
        snprintf(out, 64, "%lld.pilot", (long long)job->row.ensemble);
        return;
    }
    snprintf(out, 64, job->row.kind == JOB_TRAINING ? "%lld.training.%lld" : "%lld.%lld", (long long)job->row.ensemble,
             (long long)slot->index);
}

static void apply_record(struct engine *engine, struct live_job *job, struct slot *slot, const json_t *json)
{
    static const enum attempt_outcome outcomes[] = {
        [EXITREC_SUCCEEDED] = ATTEMPT_SUCCEEDED,
        [EXITREC_FAILED] = ATTEMPT_FAILED,
        [EXITREC_TIMEOUT] = ATTEMPT_TIMEOUT,
        [EXITREC_CANCELLED] = ATTEMPT_CANCELLED,
    };
    struct exitrec rec;
    struct outcome out;
    struct error err;
    char id[64];

    task_id(job, slot, id);
    if (exitrec_parse(json, &rec, &err) < 0) {
        log_warn_of(LOG_JOB(job->row.ensemble, job->row.name), "job %s, task %s: %s", job->row.name, id, err.text);
        return;
    }
    if (strcmp(rec.job, job->row.name) != 0 || strcmp(rec.id, id) != 0) {
        log_warn_of(LOG_JOB(job->row.ensemble, job->row.name),
                    "job %s, task %s: the exit record is of job %s, task %s", job->row.name, id, rec.job, rec.id);
        return;
    }
    out = (struct outcome){
        .outcome = outcomes[rec.outcome],
        .exit_code = rec.exit_code,
        .signal = rec.signal,
        .started_ms = (int64_t)(rec.started * 1000),
        .ended_ms = (int64_t)(rec.ended * 1000),
        .late = rec.late,
        .recorded = true,
        .resumed = rec.resumed,
        .checkpoints = rec.checkpoints,
    };
    text_copy(out.reason, sizeof out.reason, rec.reason);
    text_copy(out.host, sizeof out.host, rec.host);
    if (job->row.started_ms > out.started_ms) /* what the scheduler said was of a second job of that name, or late */
        job->row.started_ms = out.started_ms;
    outcome_apply(engine, job, slot, &out);
}

/* Whether a runner has the job. */
static bool note_claim(struct engine *engine, struct live_job *job, const json_t *claim)
{
    const char *host = json_string_value(json_object_get(claim, "host"));

    job->sealed = job->sealed || json_is_true(json_object_get(claim, "given_up"));
    if (claim == NULL || job->sealed)
        return false;
    job->claimed = true;
    job_mark_running(engine, job, (int64_t)(1000 * json_number_value(json_object_get(claim, "time"))), host ? host : "");
    return true;
}

static void collected(void *arg, json_t **json, const struct error *failed)
{
    struct engine *engine;
    struct live_job *job = job_answered(arg, &engine);
    bool ended = true, claimed = true;
    size_t next = 0;

    if (job == NULL)
        return;
    if (failed != NULL) { /* the file system does not answer as it should: that says nothing about the job */
        log_warn_of(LOG_JOB(job->row.ensemble, job->row.name), "job %s: %s", job->row.name, failed->text);
        job->look = true;
        job_retry_in(engine, job, FILE_RETRY_MS);
        return;
    }
    if (!job->brief) {
        next = FILE_FIRST_EXIT;
        ended = json[FILE_ENDED] != NULL;
        claimed = note_claim(engine, job, json[FILE_CLAIM]);
    }
    for (size_t i = 0; i < job->n_slots; i++) {
        /* slots are closed only here and in job_fail_open(), never while a collection is under way */
        if (!job->slots[i].open)
            continue;
        if (json[next] != NULL)
            apply_record(engine, job, &job->slots[i], json[next]);
        next++;
    }
    if (job->brief && job->open > 0) {
        job->whole = true;
        job_collect(engine, job);
    } else if (job->open == 0 && (ended || job->gone)) {
        job_end(engine, job, job->gone_reason);
    } else if (ended || job->gone) {
        job_missing(engine, job, claimed, ended);
    } else {
        job_advance(engine, job); /* what was put off meanwhile: a cancel, another look */
    }
    engine_settle(engine);
}

static bool is_of(const struct live_job *job, const struct slot *slot, const json_t *record)
{
    const char *its = json_string_value(json_object_get(record, "id"));
    char id[64];

    task_id(job, slot, id);
    return its != NULL && strcmp(its, id) == 0;
}

/* A record tells that the job has begun, too. */
static void note_begun(struct engine *engine, struct live_job *job, const json_t *record)
{
    const char *host = json_string_value(json_object_get(record, "host"));

    job_mark_running(engine, job, (int64_t)(1000 * json_number_value(json_object_get(record, "started"))), host ? host : "");
}

/* What its runner handed back, where the adapter has it. True: all is known, and the job has ended. */
static bool take_records(struct engine *engine, struct live_job *job)
{
    json_t *records = NULL, *record;
    size_t i, next = 0;

    if (job_is_inside(job)) {
        records = job->records;
        job->records = NULL;
    } else if (job->gone && job->adapter->ops->take_records != NULL)
        records = job->adapter->ops->take_records(job->adapter->adapter, job->row.name);
    json_array_foreach (records, i, record) { /* in the order of the slots that were open when it was submitted */
        while (next < job->n_slots && !is_of(job, &job->slots[next], record))
            next++;
        if (next == job->n_slots || !job->slots[next].open)
            continue;
        note_begun(engine, job, record);
        apply_record(engine, job, &job->slots[next], record);
    }
    json_decref(records);
    if (records == NULL || job->open > 0)
        return false;
    job_end(engine, job, job->gone_reason);
    return true;
}

void job_collect(struct engine *engine, struct live_job *job)
{
    char **paths, *dir;
    size_t n = 0;

    if (take_records(engine, job))
        return;
    paths = xcalloc(FILE_FIRST_EXIT + job->open, sizeof *paths);
    job->brief = job->started && job->gone && !job->unknown && !job->whole;
    if (!job->brief) {
        dir = engine_job_dir(engine, job);
        paths[FILE_CLAIM] = xasprintf("%s/claim.json", dir);
        paths[FILE_ENDED] = xasprintf("%s/ended.json", dir);
        n = FILE_FIRST_EXIT;
        free(dir);
    }
    for (size_t i = 0; i < job->n_slots; i++) {
        if (!job->slots[i].open)
            continue;
        dir = slot_dir(engine, job, &job->slots[i]);
        paths[n++] = xasprintf("%s/exit.json", dir);
        free(dir);
    }
    job->look = false;
    job->business = BUSINESS_COLLECTING;
    engine->ports.rundir_ops->read(engine->ports.rundir, paths, n, collected, ticket_new(engine, job->row.id));
}
