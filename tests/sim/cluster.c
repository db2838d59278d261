/* The scheduler, its nodes, and the runners and ranks on them. */
#include "tests/sim/sim.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include <utlist.h>

/* One submission. A name may have been submitted twice: only one of them can claim it. */
struct cjob {
    struct cjob *next; /* of the same name */
    UT_hash_handle hh; /* the first of each name, by it */
    char name[64], id[32];
    char *dir;
    enum adapter_state state; /* ADAPTER_JOB_UNKNOWN: forgotten */
    bool node_lost, cancelled, dead; /* dead: no process of it is left */
    int64_t visible_ms;              /* a submission that was accepted, but is worked off only then */
    int64_t held_ms;                 /* not started before then, and passed by others meanwhile */
    int64_t useless_ms;              /* since when it waits for nothing, counted while the daemon was up; 0: it does not */
    uint64_t useless_since;          /* likewise in answers */
    uint64_t told_in;                /* the last answer that was about it */
    bool told_ended, told_unknown;   /* by the scheduler, to the daemon */
    enum adapter_state lie;          /* what it says of the job until then */
    int64_t lie_until;
    int cpus, node;
    bool holds; /* its CPUs */
    struct cjob *wait_prev, *wait_next;
    int64_t started_ms;
};

/* A question of the daemon that has not been answered. */
struct question {
    struct question *prev, *next;
    struct cluster *cluster;
    bool dropped, unsure, refused;
    adapter_submit_cb *submitted;
    adapter_poll_cb *polled;
    adapter_done_cb *done;
    void *arg;
    char id[32];
    char (*names)[64];
    size_t n;
};

struct cluster {
    struct sim *sim;
    struct adapter_host host;
    struct cjob *jobs;
    struct question *questions;
    int adapter;
    int used;              /* CPUs */
    struct cjob *waiting;  /* for CPUs, first come first served */
    json_t *running; /* task id → how many processes of it run now */
    uint64_t next_id;
    int live; /* queued or running */
    uint64_t answers;
};

static struct cluster *of(struct adapter *a)
{
    return (struct cluster *)a;
}

struct adapter *cluster_adapter(struct cluster *cluster)
{
    return (struct adapter *)cluster;
}

struct cluster *cluster_create(struct sim *sim, int adapter)
{
    struct cluster *c = xcalloc(1, sizeof *c);

    c->sim = sim;
    c->adapter = adapter;
    c->running = json_object();
    return c;
}

static bool is_live(enum adapter_state state)
{
    return state == ADAPTER_JOB_QUEUED || state == ADAPTER_JOB_RUNNING;
}

static void set_state(struct cluster *c, struct cjob *job, enum adapter_state state)
{
    c->live += is_live(state) - is_live(job->state);
    job->state = state;
}

static struct cjob *named(const struct cluster *c, const char *name)
{
    struct cjob *job;

    HASH_FIND_STR(c->jobs, name, job);
    return job;
}

static void add_job(struct cluster *c, struct cjob *job)
{
    struct cjob *first = named(c, job->name);

    if (first != NULL)
        LL_APPEND(first, job);
    else
        HASH_ADD_STR(c->jobs, name, job);
}

/* The first of its name. */
static void remove_job(struct cluster *c, struct cjob *first)
{
    struct cjob *next = first->next;

    HASH_DEL(c->jobs, first);
    if (next != NULL)
        HASH_ADD_STR(c->jobs, name, next);
    free(first->dir);
    free(first);
}

void cluster_destroy(struct cluster *c)
{
    while (c->jobs != NULL)
        remove_job(c, c->jobs);
    json_decref(c->running);
    free(c);
}

int cluster_live_jobs(const struct cluster *c)
{
    return c->live;
}

static int64_t soon(struct cluster *c, uint64_t below)
{
    return sim_now(c->sim) + (int64_t)sim_random(c->sim, below);
}

static void put(struct cluster *c, const char *dir, const char *name, json_t *json)
{
    char *path = xasprintf("%s/%s", dir, name);

    json_object_set_new(sim_files(c->sim), path, json);
    free(path);
}

static json_t *get(struct cluster *c, const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    json_t *json = json_object_get(sim_files(c->sim), path);

    free(path);
    return json;
}

static void drop(struct cluster *c, const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);

    json_object_del(sim_files(c->sim), path);
    free(path);
}

static void nudge(struct cluster *c, const char *job, enum engine_look what)
{
    sim_enter(c->sim);
    if (sim_engine(c->sim) != NULL && !sim_chance(c->sim, sim_faults_of(c->sim)->nudge_lost))
        engine_look(sim_engine(c->sim), job, what);
    sim_leave(c->sim);
}

static void poke(struct cluster *c)
{
    if (sim_engine(c->sim) != NULL && !sim_chance(c->sim, sim_faults_of(c->sim)->nudge_lost))
        engine_poke(sim_engine(c->sim), cluster_adapter(c));
}

/* A task begins or ends; a member must never have two processes at once. */
static void count(struct cluster *c, const char *id, int change)
{
    json_int_t n = json_integer_value(json_object_get(c->running, id)) + change;

    if (n > 1)
        sim_violate(c->sim, "task %s runs twice at once", id);
    if (n == 0)
        json_object_del(c->running, id);
    else
        json_object_set_new(c->running, id, json_integer(n));
}

static bool is_training(const json_t *task)
{
    return strstr(json_string_value(json_object_get(task, "id")), "training") != NULL;
}

/* --- runners */

struct task_end {
    struct cluster *cluster;
    struct cjob *job;
    json_t *task; /* NULL where it is about the whole job */
};

static void task_end_free(struct task_end *end)
{
    json_decref(end->task);
    free(end);
}

/* Nobody will ask for what it left behind. */
static void tidy(struct cluster *c, struct cjob *job)
{
    static const char *const files[] = {"job.json", "claim.json", "ended.json"};
    const json_t *tasks = json_object_get(get(c, job->dir, "job.json"), "tasks");
    json_t *task;
    size_t i;

    json_array_foreach (tasks, i, task)
        drop(c, json_string_value(json_object_get(task, "dir")), "exit.json");
    for (i = 0; i < sizeof files / sizeof *files; i++)
        drop(c, job->dir, files[i]);
    remove_job(c, job);
}

static void forget_later(struct sim *sim, void *arg)
{
    struct task_end *end = arg;

    set_state(end->cluster, end->job, ADAPTER_JOB_UNKNOWN);
    if (sim_faults_of(sim)->tidy)
        tidy(end->cluster, end->job);
    task_end_free(end);
}

static void scheduler_notes_end(struct sim *sim, void *arg)
{
    struct task_end *end = arg;

    set_state(end->cluster, end->job, ADAPTER_JOB_ENDED);
    poke(end->cluster);
    sim_at(sim, sim_now(sim) + sim_faults_of(sim)->forget_ms, forget_later, end);
}

static void start_runner(struct sim *sim, void *arg);

static void start_at(struct cluster *c, struct cjob *job, int64_t when)
{
    struct task_end *start = xcalloc(1, sizeof *start);

    *start = (struct task_end){c, job, NULL};
    sim_at(c->sim, when, start_runner, start);
}

static bool has_room(const struct cluster *c, const struct cjob *job)
{
    int slots = sim_slots(c->sim, c->adapter);

    return slots == 0 || c->used + job->cpus <= slots;
}

static void wake_waiting(struct cluster *c)
{
    while (c->waiting != NULL && c->waiting->state != ADAPTER_JOB_QUEUED) { /* cancelled meanwhile */
        struct cjob *gone = c->waiting;

        DL_DELETE2(c->waiting, gone, wait_prev, wait_next);
        gone->wait_prev = NULL;
    }
    if (c->waiting != NULL)
        start_at(c, c->waiting, sim_now(c->sim));
}

static void release(struct cluster *c, struct cjob *job)
{
    if (!job->holds)
        return;
    job->holds = false;
    c->used -= job->cpus;
    wake_waiting(c);
}

/* Has it its CPUs now, or does it wait for them? */
static bool take_cpus(struct cluster *c, struct cjob *job)
{
    bool waits = job->wait_prev != NULL;

    if ((c->waiting != NULL && c->waiting != job) || !has_room(c, job)) {
        if (!waits)
            DL_APPEND2(c->waiting, job, wait_prev, wait_next);
        return false;
    }
    if (waits) {
        DL_DELETE2(c->waiting, job, wait_prev, wait_next);
        job->wait_prev = NULL;
    }
    job->holds = true;
    c->used += job->cpus;
    wake_waiting(c); /* there may be room for the next, too */
    return true;
}

static void over(struct cluster *c, struct cjob *job)
{
    struct task_end *end = xcalloc(1, sizeof *end);

    end->cluster = c;
    end->job = job;
    job->dead = true;
    release(c, job);
    sim_at(c->sim, soon(c, 2000), scheduler_notes_end, end);
}

/* What is true of it, whatever the daemon comes to know. */
static void note_attempt(struct cluster *c, const json_t *task, const char *outcome)
{
    const char *attempt = json_string_value(json_object_get(json_object_get(task, "env"), "STRETTO_ATTEMPT"));
    char *key;

    if (attempt == NULL || sim_faults_of(c->sim)->tidy)
        return;
    key = xasprintf("%s.%s", json_string_value(json_object_get(task, "id")), attempt);
    json_object_set_new(sim_ledger(c->sim), key, json_string(outcome));
    free(key);
}

static void write_exit(struct cluster *c, struct cjob *job, const json_t *task, const char *outcome)
{
    bool good = strcmp(outcome, "succeeded") == 0;
    double now = (double)sim_now(c->sim) / 1000;

    note_attempt(c, task, outcome);
    put(c, json_string_value(json_object_get(task, "dir")), "exit.json",
        json_pack("{s:i, s:s, s:O, s:s, s:f, s:f, s:s, s:o, s:n, s:s, s:f, s:f, s:i}", "version", 1, "job", job->name, "id",
                  json_object_get(task, "id"), "host", "n1", "started", (double)job->started_ms / 1000, "ended", now,
                  "outcome", outcome, "exit_code", json_integer(good ? 0 : 1), "signal", "reason", good ? "" : "simulated",
                  "user_seconds", 0.0, "system_seconds", 0.0, "max_rss", 1));
    nudge(c, job->name, ENGINE_LOOK_RECORDS);
}

static void task_ends(struct sim *sim, void *arg);

static void end_later(struct cluster *c, struct cjob *job, json_t *task, int64_t when)
{
    struct task_end *end = xcalloc(1, sizeof *end);

    *end = (struct task_end){c, job, json_incref(task)};
    sim_at(c->sim, when, task_ends, end);
}

/* Jobs last at least a second where places are counted: how many wait ahead depends on that. */
static int64_t shortest(const struct cluster *c)
{
    return sim_slots(c->sim, c->adapter) > 0 ? 1000 : 0;
}

/* A rank goes on until it is told that no more members come. */
static bool rank_waits(struct cluster *c, struct cjob *job, const json_t *task)
{
    const char *dir = json_string_value(json_object_get(json_object_get(task, "env"), "STRETTO_TRAINING_DIR"));
    double now = (double)sim_now(c->sim) / 1000;

    if (get(c, dir, "reception.json") == NULL)
        return true;
    put(c, dir, "done-rank0.json",
        json_pack("{s:i, s:i, s:i, s:f, s:s}", "version", 1, "generation", 1, "rank", 0, "time", now, "state", "done"));
    nudge(c, job->name, ENGINE_LOOK_STREAM);
    return false;
}

static void task_ends(struct sim *sim, void *arg)
{
    struct task_end *end = arg;
    struct cluster *c = end->cluster;
    struct cjob *job = end->job;
    const json_t *tasks = json_object_get(get(c, job->dir, "job.json"), "tasks");
    const char *outcome = job->cancelled                                           ? "cancelled"
                          : sim_chance(sim, sim_faults_of(sim)->task_fails) ? "failed"
                                                                                    : "succeeded";
    size_t i;
    json_t *task;

    if (!job->dead && is_training(end->task) && !job->cancelled && !sim_ending(sim)) {
        outcome = "succeeded";
        if (rank_waits(c, job, end->task)) {
            end_later(c, job, end->task, sim_now(sim) + 1000);
            task_end_free(end);
            return;
        }
    }
    if (!job->dead) {
        count(c, json_string_value(json_object_get(end->task, "id")), -1);
        write_exit(c, job, end->task, outcome);
        json_array_foreach (tasks, i, task)
            if (get(c, json_string_value(json_object_get(task, "dir")), "exit.json") == NULL)
                goto others_run;
        put(c, job->dir, "ended.json", json_pack("{s:i, s:f}", "version", 1, "time", (double)sim_now(sim) / 1000));
        nudge(c, job->name, ENGINE_LOOK_RECORDS);
        over(c, job);
    }
others_run:
    task_end_free(end);
}

static void kill_tasks(struct cluster *c, struct cjob *job)
{
    const json_t *tasks = json_object_get(get(c, job->dir, "job.json"), "tasks");
    size_t i;
    json_t *task;

    json_array_foreach (tasks, i, task) {
        if (get(c, json_string_value(json_object_get(task, "dir")), "exit.json") != NULL)
            continue;
        count(c, json_string_value(json_object_get(task, "id")), -1);
        note_attempt(c, task, "killed");
    }
    job->node_lost = true;
}

static bool runs_members(struct cluster *c, const struct cjob *job)
{
    return job->state == ADAPTER_JOB_RUNNING && !job->dead &&
           !is_training(json_array_get(json_object_get(get(c, job->dir, "job.json"), "tasks"), 0));
}

static void kill_node(struct cluster *c, int node)
{
    for (struct cjob *first = c->jobs; first != NULL; first = first->hh.next) {
        for (struct cjob *job = first; job != NULL; job = job->next) {
            if (job->node != node || !runs_members(c, job))
                continue;
            kill_tasks(c, job);
            over(c, job);
        }
    }
}

/* The runner goes with its tasks: alone, or with all that its node runs, or pushed aside, to be started again. */
static void kill_runner(struct sim *sim, void *arg)
{
    struct task_end *end = arg;
    struct cluster *c = end->cluster;
    struct cjob *job = end->job;

    if (!job->dead && job->state == ADAPTER_JOB_RUNNING) {
        switch (sim_random(sim, 3)) {
        case 0:
            kill_tasks(c, job);
            over(c, job);
            break;
        case 1: kill_node(c, job->node); break;
        case 2:
            kill_tasks(c, job);
            job->dead = true;
            release(c, job);
            set_state(c, job, ADAPTER_JOB_QUEUED);
            start_at(c, job, soon(c, (uint64_t)sim_faults_of(sim)->queue_ms));
            break;
        }
    }
    task_end_free(end);
}

/* Ranks that were told that no more members come must not get one. */
static void check_reception(struct cluster *c, const json_t *task)
{
    const char *id = json_string_value(json_object_get(task, "id"));
    const char *stream = json_string_value(json_object_get(json_object_get(task, "env"), "STRETTO_STREAM"));
    char *dir = stream ? xasprintf("%.*s/g1", (int)(strlen(stream) - strlen("/stream")), stream) : NULL;

    if (dir != NULL && get(c, dir, "reception.json") != NULL)
        sim_violate(c->sim, "member %s started when its training had been told that no more come", id);
    free(dir);
}

static void start_runner(struct sim *sim, void *arg)
{
    struct task_end *start = arg;
    struct cluster *c = start->cluster;
    struct cjob *job = start->job;
    json_t *desc = get(c, job->dir, "job.json"), *task;
    size_t i;

    free(start);
    if (job->state != ADAPTER_JOB_QUEUED)
        return;
    if (sim_now(sim) < job->held_ms) {
        start_at(c, job, job->held_ms);
        return;
    }
    if (!take_cpus(c, job))
        return;
    if (sim_chance(sim, sim_faults_of(sim)->queue_lost)) {
        release(c, job);
        set_state(c, job, ADAPTER_JOB_UNKNOWN);
        return;
    }
    set_state(c, job, ADAPTER_JOB_RUNNING);
    job->started_ms = sim_now(sim);
    if (desc == NULL) {
        sim_violate(sim, "job %s was submitted before its descriptor was on disk", job->name);
        return;
    }
    poke(c);
    if (get(c, job->dir, "claim.json") != NULL) { /* another runner has it */
        over(c, job);
        return;
    }
    put(c, job->dir, "claim.json",
        json_pack("{s:i, s:f, s:s}", "version", 1, "time", (double)sim_now(sim) / 1000, "host", "n1"));
    nudge(c, job->name, ENGINE_LOOK_RECORDS);
    json_array_foreach (json_object_get(desc, "tasks"), i, task) {
        count(c, json_string_value(json_object_get(task, "id")), 1);
        note_attempt(c, task, "running");
        if (is_training(task)) {
            const json_t *env = json_object_get(task, "env");

            put(c, json_string_value(json_object_get(env, "STRETTO_STREAM")), "g1-rank0.json", json_pack("{s:i}", "version", 1));
            nudge(c, job->name, ENGINE_LOOK_STREAM);
        } else {
            check_reception(c, task);
        }
        end_later(c, job, task, shortest(c) + soon(c, (uint64_t)sim_faults_of(sim)->run_ms));
    }
    if (sim_chance(sim, sim_faults_of(sim)->runner_killed) && !is_training(json_array_get(json_object_get(desc, "tasks"), 0))) {
        struct task_end *end = xcalloc(1, sizeof *end);

        *end = (struct task_end){c, job, NULL};
        sim_at(sim, shortest(c) + soon(c, (uint64_t)sim_faults_of(sim)->run_ms), kill_runner, end);
    }
}

static void enqueue(struct cluster *c, const struct adapter_job *wanted, char id[32], int64_t visible_ms)
{
    const struct adapter_resources *r = &wanted->resources;
    struct cjob *job = xcalloc(1, sizeof *job);

    snprintf(job->name, sizeof job->name, "%s", wanted->name);
    snprintf(job->id, sizeof job->id, "%llu", (unsigned long long)++c->next_id);
    snprintf(id, 32, "%s", job->id);
    job->dir = xstrdup(wanted->dir);
    job->cpus = r->copies * r->tasks * r->cpus_per_task;
    job->node = (int)sim_random(c->sim, 4);
    job->state = ADAPTER_JOB_QUEUED;
    c->live++;
    job->visible_ms = visible_ms;
    add_job(c, job);
    start_at(c, job, visible_ms + (int64_t)sim_random(c->sim, (uint64_t)sim_faults_of(c->sim)->queue_ms));
}

/* --- the adapter */

/* How long a job may wait of which nothing can come: the daemon has long asked by then. */
#define USELESS_MS 600000
#define USELESS_ANSWERS 30

/* What the scheduler says of it, which is once and for a while not so: who could find out about one that lies on and on? */
static enum adapter_state said(struct cluster *c, struct cjob *job)
{
    int64_t now = sim_now(c->sim);

    if (now < job->visible_ms)
        return ADAPTER_JOB_UNKNOWN;
    if (is_live(job->state) && job->lie_until == 0 && sim_chance(c->sim, sim_faults_of(c->sim)->lies)) {
        job->lie = sim_chance(c->sim, 500) ? ADAPTER_JOB_UNKNOWN : ADAPTER_JOB_ENDED;
        job->lie_until = now + (int64_t)sim_random(c->sim, job->lie == ADAPTER_JOB_ENDED ? 4000 : 40000);
        if (job->state == ADAPTER_JOB_QUEUED && job->wait_prev == NULL && sim_chance(c->sim, 300))
            job->held_ms = now + 2 * USELESS_MS; /* a second one of its name, if it comes to that, is there first */
    }
    return is_live(job->state) && now < job->lie_until ? job->lie : job->state;
}

/* How much it tells. */
static int rank(enum adapter_state state)
{
    return state == ADAPTER_JOB_RUNNING ? 3 : state == ADAPTER_JOB_QUEUED ? 2 : state == ADAPTER_JOB_ENDED;
}

static void look_up(struct cluster *c, const char *name, struct adapter_status *status)
{
    struct cjob *best = NULL;
    enum adapter_state state = ADAPTER_JOB_UNKNOWN;

    for (struct cjob *job = named(c, name); job != NULL; job = job->next) {
        enum adapter_state now = said(c, job);

        if (rank(now) <= rank(state))
            continue;
        best = job;
        state = now;
    }
    *status = (struct adapter_status){.state = state};
    for (struct cjob *job = named(c, name); job != NULL && best == NULL; job = job->next)
        job->told_unknown = true;
    if (best == NULL)
        return;
    best->told_in = c->answers;
    best->told_ended = best->told_ended || state == ADAPTER_JOB_ENDED;
    status->started_ms = best->started_ms;
    status->node_lost = best->node_lost;
    snprintf(status->scheduler_id, sizeof status->scheduler_id, "%s", best->id);
}

/* Jobs that wait, and of which the answer did not tell. */
static void tell_surplus(struct cluster *c)
{
    if (sim_faults_of(c->sim)->tidy) /* it costs what there is, and there are none */
        return;
    for (struct cjob *first = c->jobs; first != NULL; first = first->hh.next)
        for (struct cjob *job = first; job != NULL; job = job->next)
            if (job->state == ADAPTER_JOB_QUEUED && job->told_in != c->answers && said(c, job) == ADAPTER_JOB_QUEUED)
                engine_surplus(sim_engine(c->sim), cluster_adapter(c), job->name, job->id);
}

void cluster_check_queue(struct cluster *c)
{
    int64_t up = sim_up_ms(c->sim);

    for (struct cjob *first = c->jobs; first != NULL; first = first->hh.next) {
        for (struct cjob *job = first; job != NULL; job = job->next) {
            if (job->state != ADAPTER_JOB_QUEUED || sim_now(c->sim) < job->visible_ms ||
                get(c, job->dir, "claim.json") == NULL)
                job->useless_ms = 0;
            else if (job->useless_ms == 0)
                job->useless_ms = up, job->useless_since = c->answers;
            else if (up - job->useless_ms > USELESS_MS && c->answers - job->useless_since > USELESS_ANSWERS)
                sim_violate(c->sim, "job %s (%s) is left in the queue, and nothing can come of it", job->name, job->id);
        }
    }
}

static void answer(struct sim *sim, void *arg)
{
    struct question *q = arg;
    struct adapter_status *statuses;
    struct cluster *c = q->cluster;
    struct error err;

    error_set(&err, "simulated", "%s", q->refused ? "refused" : "no answer");
    if (!q->dropped) {
        DL_DELETE(c->questions, q);
        sim_enter(sim);
        if (q->submitted != NULL)
            q->submitted(q->arg, q->refused ? ADAPTER_REFUSED : q->unsure ? ADAPTER_UNSURE : ADAPTER_OK, q->id, &err);
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
            tell_surplus(c);
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

static void answer_later(struct cluster *c, struct question *q)
{
    const struct sim_faults *weather = sim_faults_of(c->sim);

    sim_at(c->sim, soon(c, sim_chance(c->sim, weather->slow) ? 40000 : (uint64_t)weather->answer_ms), answer, q);
}

void cluster_drop_all(struct cluster *c)
{
    struct error err;

    error_set(&err, "dropped", "the daemon is gone");
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
    for (const struct cjob *job = named(c, name); job != NULL; job = job->next)
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

static void cluster_submit(struct adapter *a, const struct adapter_job *job, adapter_submit_cb *cb, void *arg)
{
    struct cluster *c = of(a);
    const struct sim_faults *faults = sim_faults_of(c->sim);
    struct question *q = question_new(c, arg);

    q->submitted = cb;
    for (const struct cjob *twin = named(c, job->name); twin != NULL; twin = twin->next)
        if (!twin->told_unknown)
            sim_violate(c->sim, "job %s was submitted again, and the scheduler had not said that it does not know it",
                        job->name);
    q->refused = sim_chance(c->sim, faults->submit_refused);
    for (struct cjob *twin = named(c, job->name); twin != NULL; twin = twin->next)
        twin->told_ended = twin->told_ended || q->refused; /* it may be given up for that, over a crash that forgets why */
    q->unsure = !q->refused && sim_chance(c->sim, faults->submit_unsure);
    if (!q->refused && (!q->unsure || sim_chance(c->sim, 500)))
        enqueue(c, job, q->id, sim_now(c->sim) + (q->unsure && sim_chance(c->sim, 300) ? soon(c, 60000) - sim_now(c->sim) : 0));
    answer_later(c, q);
}

static void cluster_poll(struct adapter *a, const struct adapter_job *jobs, size_t n, adapter_poll_cb *cb, void *arg)
{
    struct cluster *c = of(a);
    struct question *q = question_new(c, arg);

    q->polled = cb;
    q->unsure = sim_chance(c->sim, sim_faults_of(c->sim)->poll_unsure);
    q->n = n;
    q->names = xcalloc(n, sizeof *q->names);
    for (size_t i = 0; i < n; i++)
        snprintf(q->names[i], sizeof q->names[i], "%s", jobs[i].name);
    answer_later(c, q);
}

static void cluster_cancel(struct adapter *a, const struct adapter_job *ajob, adapter_done_cb *cb, void *arg)
{
    struct cluster *c = of(a);
    struct question *q = question_new(c, arg);

    q->done = cb;
    q->unsure = sim_chance(c->sim, sim_faults_of(c->sim)->poll_unsure);
    for (struct cjob *job = named(c, ajob->name); job != NULL && !q->unsure; job = job->next) {
        if (sim_now(c->sim) < job->visible_ms)
            continue;
        job->cancelled = true;
        if (job->state == ADAPTER_JOB_QUEUED)
            set_state(c, job, ADAPTER_JOB_ENDED);
    }
    wake_waiting(c);
    answer_later(c, q);
}

static void cluster_withdraw(struct adapter *a, const char *name, const char *id, adapter_done_cb *cb, void *arg)
{
    struct cluster *c = of(a);
    struct question *q = question_new(c, arg);

    q->done = cb;
    q->unsure = sim_chance(c->sim, sim_faults_of(c->sim)->poll_unsure);
    for (struct cjob *job = named(c, name); job != NULL && !q->unsure; job = job->next)
        if (strcmp(job->id, id) == 0 && job->state == ADAPTER_JOB_QUEUED)
            set_state(c, job, ADAPTER_JOB_ENDED);
    wake_waiting(c);
    answer_later(c, q);
}

#define CLUSTER_OPS(called)                                                                                            \
    {                                                                                                                  \
        .abi = ADAPTER_ABI, .name = called, .check = cluster_check, .slots = cluster_slots, .submit = cluster_submit,   \
        .poll = cluster_poll, .find = cluster_poll, .cancel = cluster_cancel,                                           \
        .withdraw = cluster_withdraw,                                                                                  \
    }

const char *const sim_adapters[SIM_ADAPTERS] = {"local", "other"};
const struct adapter_ops cluster_ops[SIM_ADAPTERS] = {CLUSTER_OPS("local"), CLUSTER_OPS("other")};
