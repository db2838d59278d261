/* Reads the reports of pilots in their journals: one file for all jobs of a node, read on from where the last look
 * ended. */
#include "daemon/engine/jobs/pilot_journal.h"

#include "common/log.h"
#include "common/log_changes.h"
#include "common/timefmt.h"
#include "common/xalloc.h"
#include "daemon/engine/jobs/collect.h"
#include "daemon/engine/jobs/job_news.h"
#include "daemon/engine/jobs/pilot_inbox.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/facts.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/job_event.h"
#include "daemon/engine/memory/pilot.h"
#include "daemon/engine/memory/pilot_size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_AT_ONCE 8 /* journals that a message is worth reading */
#define NUDGED_MS 200   /* if there are more */

struct journal_look {
    struct ticket *ticket; /* the pilot's job */
    int64_t node;
    bool last; /* begun when its job was over */
};

static void journal_read_on(struct engine *engine, struct pilot_node *node);

static int64_t line_milliseconds(const json_t *line, const char *key)
{
    return time_ms_of(json_number_value(json_object_get(line, key)));
}

static void note_ready(struct engine *engine, struct pilot_node *node, const json_t *line)
{
    struct pilot *pilot = node->pilot;
    struct live_job *job = pilot->job;
    struct live_ensemble *ens = job->ensemble;
    const char *host = json_string_value(json_object_get(line, "host"));
    int64_t cpus = json_integer_value(json_object_get(line, "cpus")), fits = 0;
    int64_t gpus = json_integer_value(json_object_get(line, "gpus"));
    int64_t memory = json_integer_value(json_object_get(line, "memory")), started;

    if (ens->allocation == NULL)
        return;
    node->ready = true;
    node->fits = pilot_fits(ens->spec, cpus, gpus, memory);
    pilot->deadline_ms = line_milliseconds(line, "deadline");
    job_mark_running(engine, job, line_milliseconds(line, "time"), host ? host : "");
    started = job->row.started_ms < engine_now(engine)
                  ? job->row.started_ms
                  : engine_now(engine); /* the time by the clock that reported it first, perhaps that of another host */
    if (job->row.submitted_ms > 0 && started >= job->row.submitted_ms)
        ens->allocation->queue_ms = started - job->row.submitted_ms;
    for (int64_t i = 0; i < pilot->n_nodes; i++)
        fits += pilot->nodes[i].fits;
    if (fits > ens->allocation->fits)
        ens->allocation->fits = fits;
    log_change(LOG_LEVEL_INFO, LOG_JOB(ens->row.id, job->row.name),
               "pilot %s: node %lld is %s, with %lld CPUs, %lld GPUs: %lld jobs at once", job->row.name,
               (long long)node->number, host ? host : "", (long long)cpus, (long long)gpus, (long long)node->fits);
    if (node->fits == 0 &&
        !ensemble_ends_early(ens)) { /* if its training has learnt enough, no member is to run any more */
        char why[200];

        snprintf(why, sizeof why,
                 "a node of its allocation has %lld CPUs, %lld GPUs and %lld bytes of memory: no job of its members "
                 "fits",
                 (long long)cpus, (long long)gpus, (long long)memory);
        fact_to_stop(engine, ens->row.id, why);
    }
    engine_touch(engine, ens);
}

static void note_start(struct engine *engine, struct live_job *job, const json_t *line)
{
    job->node->pilot->begun = true;
    job->ensemble->allocation->failures = 0;
    if (job->row.state == JOB_INTENT)
        job_note_submitted(engine, job, EVENT_TAKEN, "");
    job_mark_running(engine, job, line_milliseconds(line, "time"), job->node->pilot->job->found.host);
    if (job->row.cancel && job_is_asked(job))
        job_touch(engine, job);
}

static void note_end(struct engine *engine, struct live_job *job, const json_t *line)
{
    /* of one that was handed over twice, the second end has none: its runner found the claim taken */
    if (job->found.records == NULL)
        job->found.records = json_incref(json_object_get(line, "records"));
    job_post(engine, job, EVENT_TOLD_ENDED);
    if (job->row.state == JOB_INTENT) /* it was handed over, whatever the disk says of that */
        job_note_submitted(engine, job, EVENT_TAKEN, "");
    job_touch(engine, job);
}

/* It never started, and never will, unless the journal has told of its end before: then this is about another hand-over
 * of the same job. */
static void note_return(struct engine *engine, struct live_job *job, const char *why)
{
    if (job_is_gone(job) || job->state.belief == BELIEF_RETURNED)
        return;
    job_post(engine, job, EVENT_RETURNED);
    snprintf(job->told.gone_reason, sizeof job->told.gone_reason, "%s", why ? why : "");
    job_touch(engine, job);
}

static void note_over(struct engine *engine, struct pilot_node *node, const char *why)
{
    struct pilot *pilot = node->pilot;
    bool all = true;

    node->over = true;
    text_copy(pilot->given_back, sizeof pilot->given_back, why);
    log_change(LOG_LEVEL_INFO, LOG_JOB(pilot->job->row.ensemble, pilot->job->row.name),
               "pilot %s: node %lld is given back: %s", pilot->job->row.name, (long long)node->number, why);
    for (struct live_job *job = pilot->job->ensemble->jobs; job != NULL; job = job->ens_next)
        if (job->node == node)
            note_return(engine, job, "its allocation was given back before it started");
    for (int64_t i = 0; i < pilot->n_nodes; i++)
        all = all && pilot->nodes[i].over;
    if (all && !pilot->finishing) { /* its job ends now: the files may report before the scheduler does */
        pilot->job->found.look = true;
        job_retry_in(engine, pilot->job, COLLECT_FIRST_MS);
    }
    engine_touch(engine, pilot->job->ensemble);
}

static void journal_take_line(struct engine *engine, struct pilot_node *node, const json_t *line)
{
    const char *what = json_string_value(json_object_get(line, "what"));
    const char *name = json_string_value(json_object_get(line, "job"));
    const char *why = json_string_value(json_object_get(line, "why"));
    struct live_job *job = name ? engine_find_job_named(engine, name) : NULL;

    if (what == NULL || (name != NULL && (job == NULL || job->node != node)))
        return; /* over already */
    if (job == NULL && strcmp(what, "ready") == 0)
        note_ready(engine, node, line);
    else if (job == NULL && strcmp(what, "over") == 0)
        note_over(engine, node, why ? why : "");
    else if (job != NULL && strcmp(what, "start") == 0)
        note_start(engine, job, line);
    else if (job != NULL && strcmp(what, "end") == 0)
        note_end(engine, job, line);
    else if (job != NULL && strcmp(what, "return") == 0) {
        node->closed = node->closed || !job->row.cancel; /* by its clock, or its books, there is no place for any */
        note_return(engine, job, why);
    }
}

static void journal_take_text(struct engine *engine, struct pilot_node *node, const char *text, size_t size)
{
    const char *end = text + size, *stop;

    for (; text < end && (stop = memchr(text, '\n', (size_t)(end - text))) != NULL; text = stop + 1) {
        json_error_t wrong;
        json_t *line = json_loadb(text, (size_t)(stop - text), 0, &wrong);

        if (line == NULL)
            log_warn("pilot %s: a line of its journal is damaged: %s", node->pilot->job->row.name, wrong.text);
        else
            journal_take_line(engine, node, line);
        json_decref(line);
    }
}

/* Hands jobs over again after a restart: a job that the journal does not mention may not have reached the pilot. */
static void hand_over_again(struct engine *engine, struct pilot_node *node)
{
    for (struct live_job *job = node->pilot->job->ensemble->jobs; job != NULL; job = job->ens_next) {
        if (job->node != node || job_is_asked(job))
            continue;
        job_post(engine, job, job->found.started ? EVENT_TOLD_RUNNING : EVENT_NOT_THERE);
        job_touch(engine, job);
    }
}

static void journal_read(void *arg, const char *text, size_t size, const struct error *failed)
{
    struct journal_look *r = arg;
    int64_t id;
    struct engine *engine = ticket_redeem(r->ticket, &id);
    struct live_job *job = engine ? engine_find_job(engine, id) : NULL;
    struct pilot_node *node = job != NULL && job->pilot != NULL ? &job->pilot->nodes[r->node] : NULL;
    bool last = r->last, news;

    free(r);
    if (node == NULL)
        return;
    news = node->reading == JOURNAL_READ_TWICE;
    node->reading = JOURNAL_NOT_READ;
    if (failed != NULL) { /* that it says nothing new is not known: nothing follows from it */
        log_warn_of(LOG_JOB(job->row.ensemble, job->row.name), "pilot %s: %s", job->row.name, failed->text);
        alarm_set(engine, &job->pilot->look, engine_now(engine) + FILE_RETRY_MS);
        return;
    }
    node->offset += (int64_t)size;
    journal_take_text(engine, node, text, size);
    if (size == 0 && (last || !job->pilot->finishing)) {
        if (!node->whole && !job->pilot->finishing)
            hand_over_again(engine, node);
        if (!node->whole) /* it may be given work now */
            engine_touch(engine, job->ensemble);
        node->whole = true;
    }
    if (size > 0 || news || (job->pilot->finishing && !node->whole))
        journal_read_on(engine, node);
    else if (job->pilot->finishing && !job->pilot->finished)
        job_touch(engine, job);
    engine_settle(engine);
}

static void journal_read_on(struct engine *engine, struct pilot_node *node)
{
    char *dir = pilot_node_dir(engine, node);
    struct journal_look *r = xcalloc(1, sizeof *r);

    *r = (struct journal_look){ticket_new(engine, node->pilot->job->row.id), node->number, node->pilot->finishing};
    node->reading = JOURNAL_READ_ONCE;
    engine->ports.rundir_ops->tail(engine->ports.rundir, xasprintf("%s/journal.jsonl", dir), node->offset, journal_read,
                                   r);
    free(dir);
}

void pilot_look(struct engine *engine, struct pilot *pilot)
{
    if (pilot->n_nodes > NODES_AT_ONCE && !pilot->finishing && heap_holds(&pilot->look.node) &&
        pilot->look.node.key > engine_now(engine) + NUDGED_MS) {
        alarm_set(engine, &pilot->look, engine_now(engine) + NUDGED_MS);
        return;
    }
    for (int64_t i = 0; i < pilot->n_nodes; i++) {
        if (pilot->nodes[i].reading != JOURNAL_NOT_READ)
            pilot->nodes[i].reading = JOURNAL_READ_TWICE;
        else if (!pilot->nodes[i].over || !pilot->nodes[i].whole)
            journal_read_on(engine, &pilot->nodes[i]);
    }
}
