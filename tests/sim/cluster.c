/* The scheduler of the simulated cluster: jobs by name, the queue in which they wait for CPUs, and how they leave
 * it. */
#include "tests/sim/pilots.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    c->signalled = json_object();
    return c;
}

bool cluster_is_live(enum adapter_state state)
{
    return state == ADAPTER_JOB_QUEUED || state == ADAPTER_JOB_RUNNING;
}

void cluster_set_state(struct cluster *c, struct cjob *job, enum adapter_state state)
{
    c->live += cluster_is_live(state) - cluster_is_live(job->state);
    job->state = state;
    c->live_ms = sim_now(c->sim);
}

struct cjob *cluster_named(const struct cluster *c, const char *name)
{
    struct cjob *job;

    HASH_FIND_STR(c->jobs, name, job);
    return job;
}

static void add_job(struct cluster *c, struct cjob *job)
{
    struct cjob *first = cluster_named(c, job->name);

    if (first != NULL)
        LL_APPEND(first, job);
    else
        HASH_ADD_STR(c->jobs, name, job);
}

/* Removes the first job of its name. */
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
    pilots_destroy(c);
    json_decref(c->running);
    json_decref(c->signalled);
    free(c);
}

int cluster_live_jobs(const struct cluster *c)
{
    return c->live;
}

int64_t cluster_soon(struct cluster *c, uint64_t below)
{
    return sim_now(c->sim) + (int64_t)sim_random(c->sim, below);
}

void cluster_put(struct cluster *c, const char *dir, const char *name, json_t *json)
{
    char *path = xasprintf("%s/%s", dir, name);

    json_object_set_new(sim_files(c->sim), path, json);
    free(path);
}

json_t *cluster_get(struct cluster *c, const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);
    json_t *json = json_object_get(sim_files(c->sim), path);

    free(path);
    return json;
}

void cluster_drop(struct cluster *c, const char *dir, const char *name)
{
    char *path = xasprintf("%s/%s", dir, name);

    json_object_del(sim_files(c->sim), path);
    free(path);
}

void cluster_poke(struct cluster *c)
{
    if (sim_engine(c->sim) != NULL && !sim_chance(c->sim, sim_faults_of(c->sim)->nudge_lost))
        engine_poke(sim_engine(c->sim), cluster_adapter(c));
}

void task_end_free(struct task_end *end)
{
    json_decref(end->task);
    free(end);
}

/* Removes the files of a job that nobody will ask for. */
static void tidy(struct cluster *c, struct cjob *job)
{
    static const char *const files[] = {"job.json", "claim.json", "ended.json"};
    const json_t *tasks = json_object_get(cluster_get(c, job->dir, "job.json"), "tasks");
    json_t *task;
    size_t i;

    json_array_foreach (tasks, i, task)
        cluster_drop(c, json_string_value(json_object_get(task, "dir")), "exit.json");
    for (i = 0; i < sizeof files / sizeof *files; i++)
        cluster_drop(c, job->dir, files[i]);
    remove_job(c, job);
}

static void forget_later(struct sim *sim, void *arg)
{
    struct task_end *end = arg;

    if (!cluster_is_live(end->job->state)) /* otherwise it came back */
        cluster_set_state(end->cluster, end->job, ADAPTER_JOB_UNKNOWN);
    if (sim_faults_of(sim)->tidy)
        tidy(end->cluster, end->job);
    task_end_free(end);
}

static void scheduler_notes_end(struct sim *sim, void *arg)
{
    struct task_end *end = arg;

    cluster_set_state(end->cluster, end->job, ADAPTER_JOB_ENDED);
    if (cluster_ops[end->cluster->adapter].hands_over)
        cluster_report_end(end->cluster, end->job);
    else
        cluster_poke(end->cluster);
    sim_at(sim, sim_now(sim) + sim_faults_of(sim)->forget_ms, forget_later, end);
}

void cluster_start_at(struct cluster *c, struct cjob *job, int64_t when)
{
    struct task_end *start = xcalloc(1, sizeof *start);

    *start = (struct task_end){c, job, NULL};
    sim_at(c->sim, when, runner_start, start);
}

static bool has_room(const struct cluster *c, const struct cjob *job)
{
    int slots = sim_slots(c->sim, c->adapter);

    return slots == 0 || c->used + job->cpus <= slots;
}

void cluster_wake_waiting(struct cluster *c)
{
    while (c->waiting != NULL && c->waiting->state != ADAPTER_JOB_QUEUED) { /* cancelled meanwhile */
        struct cjob *gone = c->waiting;

        DL_DELETE2(c->waiting, gone, wait_prev, wait_next);
        gone->wait_prev = NULL;
    }
    if (c->waiting != NULL)
        cluster_start_at(c, c->waiting, sim_now(c->sim));
}

void cluster_release(struct cluster *c, struct cjob *job)
{
    if (!job->holds)
        return;
    job->holds = false;
    c->used -= job->cpus;
    cluster_wake_waiting(c);
}

/* Takes the job's CPUs. False: it waits for them. */
bool cluster_take_cpus(struct cluster *c, struct cjob *job)
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
    cluster_wake_waiting(c); /* there may be room for the next one, too */
    return true;
}

void cluster_over(struct cluster *c, struct cjob *job)
{
    struct task_end *end = xcalloc(1, sizeof *end);

    end->cluster = c;
    end->job = job;
    job->dead = true;
    cluster_release(c, job);
    sim_at(c->sim, cluster_soon(c, 2000), scheduler_notes_end, end);
}

#define NOTICED_MS 1800000 /* time after its last job during which the daemon must notice a rollback */

/* Makes the scheduler lose its latest state: jobs that have ended wait again, held, as if they were half taken out of
 * the queue. */
void cluster_roll_back(struct cluster *c)
{
    if (c->live == 0 && sim_now(c->sim) - c->live_ms > NOTICED_MS)
        return;
    for (struct cjob *first = c->jobs; first != NULL; first = first->hh.next) {
        for (struct cjob *job = first; job != NULL; job = job->next) {
            if (cluster_is_live(job->state) || cluster_get(c, job->dir, "claim.json") == NULL ||
                !sim_chance(c->sim, 200))
                continue;
            job->held_ms = INT64_MAX;
            job->phantom = false;
            cluster_set_state(c, job, ADAPTER_JOB_QUEUED);
        }
    }
}

/* Draws the time in the queue; large jobs wait longer. */
static int64_t queue_time(struct cluster *c, const struct cjob *job)
{
    const char *kind = json_string_value(json_object_get(cluster_get(c, job->dir, "job.json"), "kind"));
    int64_t most = sim_faults_of(c->sim)->queue_ms;

    return (int64_t)sim_random(c->sim, (uint64_t)(kind != NULL && strcmp(kind, "pilot") == 0 ? 10 * most : most));
}

void cluster_enqueue(struct cluster *c, const struct adapter_job *wanted, char id[32], int64_t visible_ms)
{
    const struct adapter_resources *r = &wanted->resources;
    struct cjob *job = xcalloc(1, sizeof *job);

    snprintf(job->name, sizeof job->name, "%s", wanted->name);
    snprintf(job->id, sizeof job->id, "%llu", (unsigned long long)++c->next_id);
    snprintf(id, 32, "%s", job->id);
    job->dir = xstrdup(wanted->dir);
    job->cpus = r->copies * r->tasks * r->cpus_per_task;
    job->gpus = r->gpus;
    job->node = (int)sim_random(c->sim, 4);
    job->state = ADAPTER_JOB_QUEUED;
    c->live++;
    job->visible_ms = visible_ms;
    job->never = sim_chance(c->sim, sim_faults_of(c->sim)->never);
    add_job(c, job);
    if (!job->never || sim_chance(c->sim, 200))
        cluster_start_at(c, job, visible_ms + queue_time(c, job));
}
