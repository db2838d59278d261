/* Learns how the tasks of a job ended, only from their exit records. */
#include "daemon/engine/jobs/collect.h"

#include "common/log.h"
#include "common/stretto_assert.h"
#include "common/text.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "daemon/engine/jobs/abandon.h"
#include "daemon/engine/jobs/feed.h"
#include "daemon/engine/jobs/job_news.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/job_event.h"
#include "daemon/engine/memory/paths.h"
#include "daemon/engine/memory/slot.h"
#include "tasks/proto/exitrec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The files of one collection, in this order: claim, ended, then an exit record for each open slot. A brief collection,
 * for a job whose start and end the scheduler reported, leaves out the first two. */
enum { FILE_CLAIM, FILE_ENDED, FILE_FIRST_EXIT };

static void task_id(const struct live_job *job, const struct slot *slot, char out[64])
{
    if (job->row.kind == JOB_PILOT) {
        snprintf(out, 64, "%lld.pilot", (long long)job->row.ensemble);
        return;
    }
    out = text_digits(out, job->row.ensemble); /* faster than a format, since this is done for every member */
    text_copy(out, 16, job->row.kind == JOB_TRAINING ? ".training." : ".");
    text_digits(out + strlen(out), slot->index);
}

/* Applies an exit record to the slot; the record must be of the slot's task. */
static void apply_record(struct engine *engine, struct live_job *job, struct slot *slot, const struct attempt_end *end)
{
    job_mark_running(engine, job, end->started_ms, end->host); /* which the record proves, even against other reports */
    if (job->row.started_ms > end->started_ms) /* the scheduler reported the start late, or that of a duplicate */
        job->row.started_ms = end->started_ms;
    stretto_assert(slot->open && end->outcome != ATTEMPT_OPEN);
    job_close_slot(engine, job, slot, end);
}

/* Returns whether the record is of this job, whose name has a nonce and recurs in no other life of the database. Times
 * prove nothing more: they differ from the job's if a clock was set meanwhile, and the work is still good. */
static bool is_of_job(const struct live_job *job, const char *id, const struct exitrec *rec)
{
    if (strcmp(rec->job, job->row.name) == 0 && strcmp(rec->id, id) == 0)
        return true;
    log_warn_of(LOG_JOB(job->row.ensemble, job->row.name),
                "job %s, task %s: the exit record is of job %s, task %s, and does not count", job->row.name, id,
                rec->job, rec->id);
    return false;
}

/* Returns false if the record does not count. */
static bool apply_json(struct engine *engine, struct live_job *job, struct slot *slot, const json_t *json)
{
    struct exitrec rec;
    struct error err;
    char id[64];

    task_id(job, slot, id);
    if (exitrec_parse(json, &rec, &err) < 0) {
        log_warn_of(LOG_JOB(job->row.ensemble, job->row.name), "job %s, task %s: %s", job->row.name, id, err.text);
        return false;
    }
    if (!is_of_job(job, id, &rec))
        return false;
    apply_record(engine, job, slot, &rec.end);
    return true;
}

static void note_claim(struct engine *engine, struct live_job *job, const json_t *claim)
{
    const char *host = json_string_value(json_object_get(claim, "host"));
    const char *hosts = json_string_value(json_object_get(claim, "hosts"));
    const char *name = json_string_value(json_object_get(claim, "job"));

    if (name != NULL && strcmp(name, job->row.name) != 0) /* a copy of another job's directory */
        return;
    if (json_is_true(json_object_get(claim, "given_up")))
        job_read_seal(engine, job, claim);
    if (claim == NULL || job->state.proof == PROOF_SEALED)
        return;
    job_post(engine, job, EVENT_CLAIM);
    job_mark_running(engine, job, time_ms_of(json_number_value(json_object_get(claim, "time"))), host ? host : "");
    if (job->found.host[0] == '\0' && host != NULL) /* the daemon was started again meanwhile */
        text_copy(job->found.host, sizeof job->found.host, host);
    if (job->found.hosts == NULL)
        job->found.hosts = xstrdup(hosts != NULL ? hosts : "");
}

/* An exit record, or the fence in its place, of an open slot. */
struct found_record {
    struct slot *slot;
    const json_t *json;
};

/* Returns whether the record is a fence of this job; one of another job is no record of this one either. */
static bool is_fence(const struct live_job *job, const json_t *json)
{
    const char *name = json_string_value(json_object_get(json, "job"));

    return json_is_true(json_object_get(json, "given_up")) && name != NULL && strcmp(name, job->row.name) == 0;
}

/* Notes how many bytes of points the record counts, and returns whether some are not read yet. They are stored before
 * the attempt's end, so that anybody who learns of the end finds them. */
static bool lacks_points(const struct live_job *job, const struct found_record *found)
{
    const json_t *size = json_object_get(found->json, "points");

    return job->row.kind == JOB_MEMBERS && json_is_integer(size) && feed_lacks(found->slot, json_integer_value(size));
}

/* Waits until the points are read; the collection then begins again (feed.c). */
static void wait_for_points(struct engine *engine, struct live_job *job)
{
    job_post(engine, job, EVENT_COLLECTING);
    feed_rest(engine, job);
}

/* Handles records, from wherever they come, but only once the points that they count are read. Returns the number of
 * fences among them, or -1 if it waits for points. */
static int collect_records(struct engine *engine, struct live_job *job, const struct found_record *found, size_t n)
{
    bool lacks = false;
    int fences = 0;

    for (size_t i = 0; i < n; i++)
        lacks = lacks_points(job, &found[i]) || lacks;
    if (lacks) {
        wait_for_points(engine, job);
        return -1;
    }
    job->found.strange = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_fence(job, found[i].json))
            fences += job_read_fence(job, found[i].json);
        else if (!apply_json(engine, job, found[i].slot, found[i].json))
            job->found.strange++;
    }
    return fences;
}

/* Takes the records that were read from files: json has one, or NULL, for each slot that was open when the collection
 * began. None is closed meanwhile, since that happens only here and in job_fail_open(). */
static int take_files(struct engine *engine, struct live_job *job, json_t **json)
{
    struct found_record *found = xcalloc(job->open, sizeof *found);
    size_t n = 0;
    int fences;

    for (size_t i = 0; i < job->n_slots; i++) {
        if (!job->slots[i].open)
            continue;
        if (*json != NULL)
            found[n++] = (struct found_record){&job->slots[i], *json};
        json++;
    }
    fences = collect_records(engine, job, found, n);
    free(found);
    return fences;
}

/* Returns whether the job is over, and records that do not count lie in the places of all that are still to come. The
 * first record in a place is the last. */
static bool is_in_the_way(const struct live_job *job, size_t fences, bool ended)
{
    return job->state.proof == PROOF_CLAIMED && !job->found.brief && job->found.strange > 0 &&
           fences + job->found.strange == job->open && (ended || job_is_gone(job));
}

static void job_collected(void *arg, json_t **json, const struct error *failed)
{
    struct engine *engine;
    struct live_job *job = job_answered(arg, EVENT_COLLECTED, &engine);
    bool ended = true;
    int fences;

    if (job == NULL)
        return;
    if (failed != NULL) { /* the file system failed, which says nothing about the job */
        log_warn_of(LOG_JOB(job->row.ensemble, job->row.name), "job %s: %s", job->row.name, failed->text);
        job->found.look = true;
        job_retry_in(engine, job, FILE_RETRY_MS);
        return;
    }
    if (!job->found.brief) {
        ended = json[FILE_ENDED] != NULL;
        note_claim(engine, job, json[FILE_CLAIM]);
    }
    fences = take_files(engine, job, job->found.brief ? json : json + FILE_FIRST_EXIT);
    if (fences < 0) { /* it goes on when the points are read */
        engine_settle(engine);
        return;
    }
    if (fences > 0 && (size_t)fences == job->open) {
        job_abandon_fenced(engine, job);
    } else if (is_in_the_way(job, (size_t)fences, ended)) {
        text_copy(job->ending.abandon_reason, sizeof job->ending.abandon_reason,
                  "the record in the place of its exit record is not its own, and its own can never be there");
        job_abandon_fenced(engine, job);
    } else if (job->found.brief && job->open > 0) {
        job->found.whole = true;
        job_collect(engine, job);
    } else if (job->open == 0 && (ended || job_is_gone(job))) {
        job_over(engine, job, job->told.gone_reason);
    } else if (job->state.proof == PROOF_SEALED && job->open > 0 && job->ending.abandon_as != ATTEMPT_OPEN) {
        job_abandon_sealed(engine, job);
    } else if (ended || job_is_gone(job)) {
        job_missing(engine, job, ended);
    } else {
        job_touch(engine, job); /* for a cancel or another look that was put off meanwhile */
    }
    engine_settle(engine);
}

/* Returns the slot of the task with this id, or NULL if it is not open any more. Records are in the order that the
 * slots had when the job was submitted, which is mostly still the same: *next is where the next slot is likely to
 * be. */
static struct slot *slot_of(struct live_job *job, const char *task, size_t *next)
{
    char id[64];

    for (size_t n = 0; task != NULL && n < job->n_slots; n++) {
        struct slot *slot = &job->slots[(*next + n) % job->n_slots];

        task_id(job, slot, id);
        if (strcmp(task, id) != 0)
            continue;
        *next += n + 1;
        return slot->open ? slot : NULL;
    }
    return NULL;
}

/* Takes the exit records that the adapter or the pilot handed over, if any. Returns true if these ended the job, or if
 * it waits for points that they tell of; the records are kept until then. */
static bool collect_handed_back(struct engine *engine, struct live_job *job)
{
    struct found_record *found;
    const json_t *record;
    size_t i, n = 0, next = 0;
    bool waits;

    if (job->found.records == NULL)
        return false;
    found = xcalloc(job->n_slots, sizeof *found);
    json_array_foreach (job->found.records, i, record) {
        struct slot *slot = slot_of(job, json_string_value(json_object_get(record, "id")), &next);

        if (slot != NULL && n < job->n_slots)
            found[n++] = (struct found_record){slot, record};
    }
    waits = collect_records(engine, job, found, n) < 0;
    free(found);
    if (waits)
        return true;
    json_decref(job->found.records);
    job->found.records = NULL;
    if (job->open > 0)
        return false;
    job_over(engine, job, job->told.gone_reason);
    return true;
}

void job_collect(struct engine *engine, struct live_job *job)
{
    char **paths, *dir;
    size_t n = 0;

    if (collect_handed_back(engine, job))
        return;
    paths = xcalloc(FILE_FIRST_EXIT + job->open, sizeof *paths);
    job->found.brief = job->found.started && job->state.belief == BELIEF_ENDED && !job->found.whole;
    if (!job->found.brief) {
        dir = engine_job_dir(engine, job);
        paths[FILE_CLAIM] = xasprintf("%s/claim.json", dir);
        paths[FILE_ENDED] = xasprintf("%s/ended.json", dir);
        n = FILE_FIRST_EXIT;
        free(dir);
    }
    for (size_t i = 0; i < job->n_slots; i++) {
        if (!job->slots[i].open)
            continue;
        paths[n++] = slot_exit_path(engine, job, &job->slots[i]);
    }
    job->found.look = false;
    job_post(engine, job, EVENT_COLLECTING);
    engine->ports.rundir_ops->read(engine->ports.rundir, paths, n, job_collected, ticket_new(engine, job->row.id));
}
