/* The adapter of the simulated cluster. It answers questions of the daemon late, or not at all, or wrongly. */
#include "common/xalloc.h"
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "tests/sim/pilots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A question of the daemon that has not been answered yet. */
struct question {
    struct question *prev, *next;
    struct cluster *cluster;
    bool dropped, unsure, refused, later, unclear;
    adapter_submit_cb *submitted;
    adapter_poll_cb *polled;
    adapter_done_cb *done;
    void *arg;
    uint64_t epoch; /* the epoch of the engine that asks */
    char id[32];
    char (*names)[64];
    size_t n;
};

static struct cluster *of(struct adapter *a)
{
    return (struct cluster *)a;
}

/* A job that can have no effect may wait in the queue this long. The daemon must have removed it by then. */
#define USELESS_MS 600000
#define USELESS_ANSWERS 30

/* Returns the state of a job that the scheduler tells. It is wrong at most once for each job, and for a limited time,
 * since nobody could find out about a scheduler that lies for ever. */
static enum adapter_state said(struct cluster *c, struct cjob *job)
{
    int64_t now = sim_now(c->sim);

    if (now < job->visible_ms)
        return ADAPTER_JOB_UNKNOWN;
    if (cluster_is_live(job->state) && job->lie_until == 0 && sim_chance(c->sim, sim_faults_of(c->sim)->lies)) {
        job->lie = sim_chance(c->sim, 500) ? ADAPTER_JOB_UNKNOWN : ADAPTER_JOB_ENDED;
        job->lie_until = now + (int64_t)sim_random(c->sim, job->lie == ADAPTER_JOB_ENDED ? 4000 : 40000);
        if (job->state == ADAPTER_JOB_QUEUED && job->wait_prev == NULL && sim_chance(c->sim, 300))
            /* so that a second job of its name, if there is one, starts first */
            job->held_ms = now + 2 * USELESS_MS;
        if (job->state == ADAPTER_JOB_QUEUED && sim_chance(c->sim, 200)) {
            job->lie = ADAPTER_JOB_RUNNING;
            job->phantom = sim_chance(c->sim, 500);
        }
    }
    if (job->phantom && job->state == ADAPTER_JOB_QUEUED && now >= job->lie_until)
        cluster_set_state(c, job, ADAPTER_JOB_ENDED);
    return cluster_is_live(job->state) && now < job->lie_until ? job->lie : job->state;
}

/* Orders the states by how much they tell. */
static int rank(enum adapter_state state)
{
    return state == ADAPTER_JOB_RUNNING ? 3 : state == ADAPTER_JOB_QUEUED ? 2 : state == ADAPTER_JOB_ENDED;
}

static void look_up(struct cluster *c, const char *name, struct adapter_status *status)
{
    struct cjob *best = NULL;
    enum adapter_state state = ADAPTER_JOB_UNKNOWN;

    if (sim_faults_of(c->sim)->unasked > 0 && sim_chance(c->sim, sim_faults_of(c->sim)->unasked)) {
        *status = (struct adapter_status){.state = ADAPTER_JOB_UNASKED};
        for (struct cjob *job = cluster_named(c, name); job != NULL; job = job->next)
            job->told_in = c->answers; /* it is no duplicate */
        return;
    }
    for (struct cjob *job = cluster_named(c, name); job != NULL; job = job->next) {
        enum adapter_state now = said(c, job);

        if (rank(now) <= rank(state))
            continue;
        best = job;
        state = now;
    }
    *status = (struct adapter_status){.state = state};
    for (struct cjob *job = cluster_named(c, name); job != NULL && best == NULL; job = job->next)
        job->told_unknown = true;
    if (best == NULL)
        return;
    best->told_in = c->answers;
    best->told_ended = best->told_ended || state == ADAPTER_JOB_ENDED;
    status->started_ms = best->started_ms;
    status->node_lost = best->node_lost;
    status->never = best->never && state == ADAPTER_JOB_QUEUED;
    status->limited = status->never && sim_faults_of(c->sim)->limited;
    best->told_ended = best->told_ended || status->never; /* the daemon takes that as the end of the job as well */
    if (status->never)
        snprintf(status->reason, sizeof status->reason, "never");
    snprintf(status->scheduler_id, sizeof status->scheduler_id, "%s", best->id);
}

/* Tells the engine of jobs that wait although the answer did not mention them. */
static void tell_duplicate(struct cluster *c)
{
    if (sim_faults_of(c->sim)->tidy) /* such simulations have no duplicates, and looking for them takes time */
        return;
    for (struct cjob *first = c->jobs; first != NULL; first = first->hh.next)
        for (struct cjob *job = first; job != NULL; job = job->next)
            if (job->state == ADAPTER_JOB_QUEUED && job->told_in != c->answers && said(c, job) == ADAPTER_JOB_QUEUED)
                engine_duplicate(sim_engine(c->sim), cluster_adapter(c), job->name, job->id);
}

void cluster_check_queue(struct cluster *c)
{
    int64_t up = sim_up_ms(c->sim);

    for (struct cjob *first = c->jobs; first != NULL; first = first->hh.next) {
        for (struct cjob *job = first; job != NULL; job = job->next) {
            if (job->state != ADAPTER_JOB_QUEUED || sim_now(c->sim) < job->visible_ms ||
                cluster_get(c, job->dir, "claim.json") == NULL)
                job->useless_ms = 0;
            else if (job->useless_ms == 0)
                job->useless_ms = up, job->useless_since = c->answers;
            else if (up - job->useless_ms > USELESS_MS && c->answers - job->useless_since > USELESS_ANSWERS)
                sim_violate(c->sim, "job %s (%s) is left in the queue, and nothing can come of it", job->name, job->id);
        }
    }
}

#define AGAIN_MS 5000 /* the least time between a question that was not answered and the next one */

/* Verifies that there is at most one question at a time, and that it is not repeated at once where it was not answered.
 * Questions from before the daemon read everything anew do not count. */
static void check_pace(struct cluster *c)
{
    if (c->polls_epoch != sim_engine(c->sim)->epoch)
        c->polls_open = c->polls_failed = 0;
    c->polls_epoch = sim_engine(c->sim)->epoch;
    if (c->polls_open++ > 0)
        sim_violate(c->sim, "a scheduler is asked while it has not answered");
    if (c->polls_failed > 0 && sim_now(c->sim) - c->poll_failed_ms < AGAIN_MS)
        sim_violate(c->sim, "a scheduler did not answer, and is asked again after %lld ms",
                    (long long)(sim_now(c->sim) - c->poll_failed_ms));
}

static void note_answer(struct question *q)
{
    struct cluster *c = q->cluster;

    if (q->polled == NULL || q->epoch != c->polls_epoch)
        return;
    c->polls_open--;
    c->polls_failed = q->unsure ? c->polls_failed + 1 : 0;
    c->poll_failed_ms = sim_now(c->sim);
}

static void answer(struct sim *sim, void *arg)
{
    struct question *q = arg;
    struct adapter_status *statuses;
    struct cluster *c = q->cluster;
    struct error err;

    error_set(&err, "simulated", "%s", q->refused || q->unclear ? "refused" : "no answer");
    if (!q->dropped) {
        DL_DELETE(c->questions, q);
        note_answer(q);
        sim_enter(sim);
        if (q->submitted != NULL)
            q->submitted(q->arg,
                         q->refused   ? ADAPTER_REFUSED
                         : q->unclear ? ADAPTER_UNCLEAR
                         : q->later   ? ADAPTER_LATER
                         : q->unsure  ? ADAPTER_UNSURE
                                      : ADAPTER_OK,
                         q->id, &err);
        if (q->done != NULL)
            q->done(q->arg, q->unsure ? ADAPTER_UNSURE : ADAPTER_OK, &err);
        if (q->polled != NULL && q->unsure)
            q->polled(q->arg, ADAPTER_UNSURE, NULL, 0, &err);
        sim_leave(sim);
        if (q->polled != NULL && !q->unsure) {
            c->answers++;
            statuses = xcalloc(q->n, sizeof *statuses);
            for (size_t i = 0; i < q->n; i++)
                look_up(c, q->names[i], &statuses[i]);
            sim_enter(sim);
            tell_duplicate(c);
            q->polled(q->arg, ADAPTER_OK, statuses, q->n, NULL);
            sim_leave(sim);
            free(statuses);
        }
    }
    free(q->names);
    free(q);
}

static struct question *question_new(struct cluster *c, void *arg)
{
    struct question *q = xcalloc(1, sizeof *q);

    q->cluster = c;
    q->arg = arg;
    DL_PREPEND(c->questions, q);
    return q;
}

#define HANGING_MS 30000 /* a question to a scheduler that is silent takes this long */

static bool is_silent(const struct cluster *c)
{
    const struct sim_faults *weather = sim_faults_of(c->sim);

    return sim_now(c->sim) >= weather->silent_from && sim_now(c->sim) < weather->silent_until;
}

int cluster_cancels(const struct cluster *c)
{
    return c->cancels;
}

int cluster_polls_in_silence(const struct cluster *c)
{
    return c->polls_in_silence;
}

static void answer_later(struct cluster *c, struct question *q)
{
    const struct sim_faults *weather = sim_faults_of(c->sim);

    if (is_silent(c)) {
        q->unsure = true;
        q->refused = q->later = q->unclear = false;
        c->polls_in_silence += q->polled != NULL;
        sim_at(c->sim, sim_now(c->sim) + HANGING_MS, answer, q);
        return;
    }
    sim_at(c->sim, cluster_soon(c, sim_chance(c->sim, weather->slow) ? 40000 : (uint64_t)weather->answer_ms), answer,
           q);
}

void cluster_drop_all(struct cluster *c)
{
    struct error err;

    error_set(&err, "dropped", "the daemon is gone");
    c->polls_open = c->polls_failed = 0;
    json_object_clear(c->signalled);
    while (c->questions != NULL) {
        struct question *q = c->questions;

        DL_DELETE(c->questions, q);
        q->dropped = true;
        if (q->submitted != NULL)
            q->submitted(q->arg, ADAPTER_UNSURE, NULL, &err);
        if (q->polled != NULL)
            q->polled(q->arg, ADAPTER_UNSURE, NULL, 0, &err);
        if (q->done != NULL)
            q->done(q->arg, ADAPTER_UNSURE, &err);
    }
}

bool cluster_told_ended(const struct cluster *c, const char *name)
{
    for (const struct cjob *job = cluster_named(c, name); job != NULL; job = job->next)
        if (job->told_ended)
            return true;
    return false;
}

static int cluster_slots(struct adapter *a)
{
    return sim_slots(of(a)->sim, of(a)->adapter);
}

static int cluster_check(struct adapter *a, const struct adapter_resources *want, struct error *err)
{
    int slots = cluster_slots(a), cpus = want->copies * want->tasks * want->cpus_per_task;

    return slots == 0 || cpus <= slots ? 0 : error_set(err, "resources_impossible", "%d CPUs of %d", cpus, slots);
}

/* Stores a descriptor that the adapter hands over. The adapter keeps it as long as the job. */
static void take_descriptor(struct cluster *c, const struct adapter_job *job)
{
    json_t *descriptor = job->descriptor ? json_loads(job->descriptor, 0, NULL) : NULL;

    if (cluster_ops[c->adapter].hands_over != (descriptor != NULL))
        sim_violate(c->sim, "job %s was submitted %s its descriptor", job->name, descriptor ? "with" : "without");
    if (descriptor != NULL)
        cluster_put(c, job->dir, "job.json", descriptor);
}

/* Returns the records that a runner handed back when it ended: all of them, or some, or none. */
static char *cluster_take_records(struct adapter *a, const char *name)
{
    struct cluster *c = of(a);
    const struct cjob *job = cluster_named(c, name);
    int lost = sim_faults_of(c->sim)->records_lost;
    json_t *records, *task, *record;
    char *text;
    size_t i;

    while (job != NULL && job->state != ADAPTER_JOB_ENDED)
        job = job->next;
    if (job == NULL || sim_chance(c->sim, lost))
        return NULL;
    records = json_array();
    json_array_foreach (json_object_get(cluster_get(c, job->dir, "job.json"), "tasks"), i, task) {
        record = cluster_get(c, json_string_value(json_object_get(task, "dir")), "exit.json");
        if (record != NULL && !sim_chance(c->sim, lost / 3))
            json_array_append(records, record);
    }
    /* mostly printed as the runner does, sometimes in another order */
    text = json_dumps(records, JSON_COMPACT | (sim_chance(c->sim, 200) ? JSON_SORT_KEYS : 0));
    json_decref(records);
    return text;
}

static void cluster_submit(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg)
{
    struct cluster *c = of(a);
    const struct sim_faults *faults = sim_faults_of(c->sim);
    struct question *q = question_new(c, arg);

    q->submitted = cb;
    for (const struct cjob *twin = cluster_named(c, job->name); twin != NULL; twin = twin->next)
        if (!twin->told_unknown)
            sim_violate(c->sim, "job %s was submitted again, and the scheduler had not said that it does not know it",
                        job->name);
    q->refused = !is_silent(c) && sim_chance(c->sim, faults->submit_refused);
    q->later = !is_silent(c) && !q->refused && sim_chance(c->sim, faults->submit_later);
    q->unclear = !is_silent(c) && !q->refused && !q->later && sim_chance(c->sim, faults->submit_unclear);
    q->unsure =
        is_silent(c) || (!q->refused && !q->later && !q->unclear && sim_chance(c->sim, faults->submit_unsure));
    for (struct cjob *twin = cluster_named(c, job->name); twin != NULL; twin = twin->next)
        /* the daemon may give it up for that, even where it crashes and forgets why */
        twin->told_ended = twin->told_ended || q->refused || q->unclear;
    take_descriptor(c, job);
    if (!q->refused && !q->later && !q->unclear && (!q->unsure || sim_chance(c->sim, 500)))
        cluster_enqueue(c, job, q->id,
                        sim_now(c->sim) +
                            (q->unsure && sim_chance(c->sim, 300) ? cluster_soon(c, 60000) - sim_now(c->sim) : 0));
    answer_later(c, q);
}

static void cluster_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg)
{
    struct cluster *c = of(a);
    struct question *q = question_new(c, arg);

    check_pace(c);
    q->epoch = c->polls_epoch;
    q->polled = cb;
    q->unsure = sim_chance(c->sim, sim_faults_of(c->sim)->poll_unsure);
    q->n = n;
    q->names = xcalloc(n, sizeof *q->names);
    for (size_t i = 0; i < n; i++)
        snprintf(q->names[i], sizeof q->names[i], "%s", jobs[i].name);
    answer_later(c, q);
}

/* The engine's job of that name; NULL if its scheduler has lied of it, or it needs no order. */
static const struct live_job *cancelled_job(struct cluster *c, const struct cjob *job)
{
    struct engine *engine = sim_engine(c->sim);
    const struct live_job *live = engine_find_job_named(engine, job->name);

    return live != NULL && live->row.cancel && !job_is_gone(live) && live->state.belief != BELIEF_ABSENT &&
                   job->lie_until == 0 &&
                   live->adapter == live->ensemble->adapter && live->ensemble->cancels.held_since == 0
               ? live
               : NULL;
}

static void note_order(struct cluster *c, const char *name)
{
    char key[32];

    for (struct cjob *job = cluster_named(c, name); job != NULL; job = job->next) {
        const struct live_job *live = cancelled_job(c, job);

        job->ordered = true;
        if (live == NULL || job->state != ADAPTER_JOB_RUNNING)
            continue;
        snprintf(key, sizeof key, "%lld", (long long)live->row.ensemble);
        json_object_set_new(c->signalled, key, json_true());
    }
}

/* Verifies that no running job was ordered to end while a waiting one of its ensemble, which is cancelled as well, was
 * left in the queue: it would be started. Not where the scheduler keeps the daemon from that by its silence. */
void cluster_check_orders(struct cluster *c)
{
    const struct sim_faults *weather = sim_faults_of(c->sim);
    char key[32];

    for (struct cjob *first = c->jobs; first != NULL && json_object_size(c->signalled) > 0; first = first->hh.next) {
        for (struct cjob *job = first; job != NULL; job = job->next) {
            const struct live_job *live = job->state == ADAPTER_JOB_QUEUED ? cancelled_job(c, job) : NULL;

            if (live == NULL || job->ordered || sim_now(c->sim) < job->visible_ms || weather->silent_until > 0)
                continue;
            snprintf(key, sizeof key, "%lld", (long long)live->row.ensemble);
            if (json_object_get(c->signalled, key) != NULL)
                sim_violate(c->sim,
                            "job %s (belief %d, pending %d) waits without an order to cancel it, while one that runs "
                            "was told to end",
                            job->name, (int)live->state.belief, (int)live->state.pending);
        }
    }
    json_object_clear(c->signalled);
}

static void cluster_cancel(struct adapter *a, const struct adapter_job *ajob, adapter_done_cb *cb, void *arg)
{
    struct cluster *c = of(a);
    struct question *q = question_new(c, arg);
    bool lost = sim_chance(c->sim, sim_faults_of(c->sim)->cancel_lost);

    c->cancels++;
    watch_hosts_cancelled(c->sim, ajob->name);
    note_order(c, ajob->name);
    q->done = cb;
    q->unsure = is_silent(c) || sim_chance(c->sim, sim_faults_of(c->sim)->poll_unsure) ||
                sim_chance(c->sim, sim_faults_of(c->sim)->cancel_refused);
    for (struct cjob *job = cluster_named(c, ajob->name); job != NULL && !q->unsure && !lost; job = job->next) {
        if (sim_now(c->sim) < job->visible_ms)
            continue;
        job->cancelled = true;
        if (job->state == ADAPTER_JOB_QUEUED)
            cluster_set_state(c, job, ADAPTER_JOB_ENDED);
        if (job->flight != NULL)
            pilots_stop(job->flight, "cancelled");
    }
    cluster_wake_waiting(c);
    answer_later(c, q);
}

static void cluster_withdraw(struct adapter *a, const char *name, const char *id, adapter_done_cb *cb, void *arg)
{
    struct cluster *c = of(a);
    struct question *q = question_new(c, arg);

    q->done = cb;
    q->unsure = is_silent(c) || sim_chance(c->sim, sim_faults_of(c->sim)->poll_unsure);
    for (struct cjob *job = cluster_named(c, name); job != NULL && !q->unsure; job = job->next)
        if (strcmp(job->id, id) == 0 && job->state == ADAPTER_JOB_QUEUED)
            cluster_set_state(c, job, ADAPTER_JOB_ENDED);
    cluster_wake_waiting(c);
    answer_later(c, q);
}

#define CLUSTER_OPS                                                                                                    \
    .abi = ADAPTER_ABI, .check = cluster_check, .slots = cluster_slots, .submit = cluster_submit,                      \
    .poll = cluster_poll, .find = cluster_poll, .cancel = cluster_cancel, .withdraw = cluster_withdraw

const char *const sim_adapters[SIM_ADAPTERS] = {"local", "other"};
const struct adapter_ops cluster_ops[SIM_ADAPTERS] = {
    {CLUSTER_OPS, .name = "local"},
    {CLUSTER_OPS, .name = "other", .hands_over = true, .take_records = cluster_take_records},
};
