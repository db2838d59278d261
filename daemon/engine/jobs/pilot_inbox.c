/* Handing jobs over to a pilot: their descriptors, many in one file, renamed into the inbox of its node. Handing one
 * over once more is harmless: the pilot knows what it has, and of two runners only one can claim the job. */
#include "daemon/engine/jobs/pilot_inbox.h"

#include "common/files.h"
#include "common/log.h"
#include "common/xalloc.h"
#include "daemon/engine/jobs/job_news.h"
#include "daemon/engine/memory/alarm.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "daemon/engine/memory/job_event.h"
#include "daemon/engine/memory/paths.h"
#include "daemon/engine/memory/pilot.h"
#include "daemon/spec/spec.h"
#include "scheduler-adapters/adapter.h"

#include <stdlib.h>
#include <string.h>

/* The jobs and orders on their way to a node. */
struct inbox_batch {
    struct ticket *ticket; /* the pilot's job */
    int64_t node;
    int64_t *jobs;
    size_t n;
};

char *pilot_node_dir(const struct engine *engine, const struct pilot_node *node)
{
    char *job = engine_job_dir(engine, node->pilot->job), *dir = xasprintf("%s/node%lld", job, (long long)node->number);

    free(job);
    return dir;
}

static void pilot_flush(struct engine *engine, struct alarm *alarm);

static void order_flush(struct engine *engine, struct pilot_node *node, int64_t when_ms)
{
    node->flush.ring = pilot_flush;
    if (!node->writing && !heap_holds(&node->flush.node))
        /* at the next tick: orders that come until then go into the same file */
        alarm_set(engine, &node->flush, when_ms);
}

/* Its node may have gone meanwhile. */
static void handed_over(struct engine *engine, const struct inbox_batch *batch, bool well)
{
    for (size_t i = 0; i < batch->n; i++) {
        struct live_job *job = engine_find_job(engine, batch->jobs[i]);

        if (job == NULL || job->state.pending != PENDING_SUBMIT)
            continue;
        if (well && job->row.state == JOB_INTENT)
            job_note_submitted(engine, job, EVENT_ACCEPTED, "");
        else /* its journal was faster, or the inbox was not written */
            job_post(engine, job, well ? EVENT_ACCEPTED : EVENT_NOT_HANDED);
        if (well || job->node == NULL || job->state.belief == BELIEF_RETURNED)
            job_touch(engine, job);
        else
            job_retry_in(engine, job, FILE_RETRY_MS);
    }
}

/* Gives orders to cancel again: the file that was not written may have had them. */
static void cancel_again(struct engine *engine, const struct pilot_node *node)
{
    for (struct live_job *job = node->pilot->job->ensemble->jobs; job != NULL; job = job->ens_next) {
        if (job->node != node || job->ending.cancels == 0 || job_is_gone(job))
            continue;
        job->ending.cancel_again_ms = 0;
        job_retry_in(engine, job, FILE_RETRY_MS);
    }
}

static void inbox_written(void *arg, const struct error *failed)
{
    struct inbox_batch *batch = arg;
    int64_t id;
    struct engine *engine = ticket_redeem(batch->ticket, &id);
    struct live_job *job = engine ? engine_find_job(engine, id) : NULL;

    if (job != NULL && job->pilot != NULL) {
        struct pilot_node *node = &job->pilot->nodes[batch->node];

        node->writing = false;
        if (failed != NULL)
            log_warn_of(LOG_JOB(job->row.ensemble, job->row.name), "pilot %s: %s", job->row.name, failed->text);
        if (failed != NULL)
            cancel_again(engine, node);
        if (node->orders.size > 0)
            order_flush(engine, node, engine_now(engine));
    }
    if (engine != NULL) {
        handed_over(engine, batch, failed == NULL);
        engine_settle(engine);
    }
    free(batch->jobs);
    free(batch);
}

static void pilot_flush(struct engine *engine, struct alarm *alarm)
{
    static uint64_t serial;
    struct pilot_node *node = heap_entry(alarm, struct pilot_node, flush);
    struct live_job *job = node->pilot->job;
    struct rundir_file *file;
    struct inbox_batch *batch;
    char *dir;

    if (node->writing || node->orders.size == 0)
        return;
    dir = pilot_node_dir(engine, node);
    file = xcalloc(1, sizeof *file);
    /* in the order in which they were written, over restarts; never two of one name */
    file->path = xasprintf("%s/inbox/%015lld-%06llu.jsonl", dir, (long long)engine_now(engine),
                           (unsigned long long)serial++ % 1000000);
    file->json = node->orders.data;
    file->mode = 0600 | FILE_UNFLUSHED; /* after a crash of this host it is written again */
    batch = xcalloc(1, sizeof *batch);
    *batch = (struct inbox_batch){
        .ticket = ticket_new(engine, job->row.id), .node = node->number, .jobs = node->handed, .n = node->n_handed};
    node->orders = (struct text){0};
    node->handed = NULL;
    node->n_handed = 0;
    node->writing = true;
    engine->ports.rundir_ops->write(engine->ports.rundir, NULL, 0, file, 1, inbox_written, batch);
    free(dir);
}

static void hand_over(struct engine *engine, struct live_job *job, const struct adapter_job *ajob)
{
    const struct adapter_resources *r = &ajob->resources;
    struct pilot_node *node = job->node;

    text_add(&node->orders, "{\"job\":\"%s\",\"dir\":", ajob->name);
    text_json_string(&node->orders, ajob->dir);
    text_add(&node->orders,
             ",\"cpus\":%lld,\"gpus\":%lld,\"memory\":%lld,\"least\":%.3f,\"grace\":%.3f,\"descriptor\":",
             (long long)r->copies * r->tasks * r->cpus_per_task, (long long)r->copies * r->gpus,
             (long long)r->copies * r->memory, (double)spec_least_time_ms(job->ensemble->spec) / 1000,
             (double)ajob->grace_ms / 1000);
    text_put(&node->orders, ajob->descriptor, strlen(ajob->descriptor));
    text_put(&node->orders, "}\n", 2);
    node->handed = xrealloc(node->handed, node->n_handed + 1, sizeof *node->handed);
    node->handed[node->n_handed++] = job->row.id;
    order_flush(engine, node, engine_now(engine));
}

void pilot_take_back(struct engine *engine, struct pilot_node *node)
{
    for (size_t i = 0; i < node->n_handed; i++) {
        struct live_job *job = engine_find_job(engine, node->handed[i]);

        if (job != NULL && job->state.pending == PENDING_SUBMIT)
            job_post(engine, job, EVENT_NOT_HANDED);
    }
    alarm_set(engine, &node->flush, INT64_MAX);
    free(node->orders.data);
    free(node->handed);
    node->orders = (struct text){0};
    node->handed = NULL;
    node->n_handed = 0;
}

static void order_cancel(struct engine *engine, struct live_job *job, const struct adapter_job *ajob)
{
    if (job->node == NULL || job->node->over)
        return;
    text_add(&job->node->orders, "{\"cancel\":\"%s\"}\n", ajob->name);
    order_flush(engine, job->node, engine_now(engine));
}

static bool inbox_takes(const struct live_job *job)
{
    return job->node != NULL;
}

static char *inbox_take_records(struct live_job *job)
{
    (void)job;
    return NULL; /* they came with the journal's line (job_found.records) */
}

const struct job_scheduler pilot_scheduler = {
    .sure = true, /* jobs inside a pilot end with it */
    .hands_over = true,
    .returns_jobs = true,
    .takes = inbox_takes,
    .submit = hand_over,
    .cancel = order_cancel,
    .take_records = inbox_take_records,
};
