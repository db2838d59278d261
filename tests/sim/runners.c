/* The runners and ranks on the nodes. They claim jobs, run their tasks, leave records, and are killed. */
#include "tests/sim/pilots.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIES_MS 600000 /* an allocation that is lost is lost within this time */

void runner_nudge(struct cluster *c, const char *job, enum engine_look what)
{
    sim_enter(c->sim);
    if (sim_engine(c->sim) != NULL && !sim_chance(c->sim, sim_faults_of(c->sim)->nudge_lost))
        engine_look(sim_engine(c->sim), job, what);
    sim_leave(c->sim);
}

/* Counts the processes of a member that is the same in all ensembles of a family, as its checkpoint directory tells. It
 * must always be given the same parameters and seed. */
static void count_in_family(struct cluster *c, const json_t *task, int change)
{
    const json_t *env = json_object_get(task, "env");
    const char *dir = json_string_value(json_object_get(env, "STRETTO_CHECKPOINT_DIR"));
    json_t *left = dir != NULL ? cluster_get(c, dir, "member.json") : NULL;
    json_int_t n = json_integer_value(json_object_get(left, "processes")) + change;

    if (dir == NULL || sim_faults_of(c->sim)->tidy)
        return;
    if (n > 1)
        sim_violate(c->sim, "two processes of one family's member, in %s", dir);
    if (left != NULL && (!json_equal(json_object_get(left, "seed"), json_object_get(env, "STRETTO_SEED")) ||
                         !json_equal(json_object_get(left, "params"), json_object_get(env, "STRETTO_PARAMS"))))
        sim_violate(c->sim, "the member of %s was given other parameters", dir);
    cluster_put(c, dir, "member.json",
                json_pack("{s:I, s:O, s:O}", "processes", n, "seed", json_object_get(env, "STRETTO_SEED"),
                                                 "params", json_object_get(env, "STRETTO_PARAMS")));
}

/* Counts the processes of a task, which begins or ends. A member must never have two processes at once. */
void runner_count(struct cluster *c, const json_t *task, int change)
{
    const char *id = json_string_value(json_object_get(task, "id"));
    json_int_t n = json_integer_value(json_object_get(c->running, id)) + change;

    if (change > 0)
        points_begin(c, task);
    else
        points_end(c, task);

    if (n > 1)
        sim_violate(c->sim, "task %s runs twice at once", id);
    if (n == 0)
        json_object_del(c->running, id);
    else
        json_object_set_new(c->running, id, json_integer(n));
    count_in_family(c, task, change);
}

static bool is_training(const json_t *task)
{
    return strstr(json_string_value(json_object_get(task, "id")), "training") != NULL;
}

static bool leaves_checkpoints(struct cluster *c, const struct cjob *job)
{
    return checkpoints_any(cluster_get(c, job->dir, "job.json"));
}

/* Returns the attempt's name in the ledger; NULL if the task is no attempt of a member, or there is no ledger. */
static char *key_of(struct cluster *c, const json_t *task)
{
    const char *attempt = json_string_value(json_object_get(json_object_get(task, "env"), "STRETTO_ATTEMPT"));

    if (attempt == NULL || sim_faults_of(c->sim)->tidy)
        return NULL;
    return xasprintf("%s.%s", json_string_value(json_object_get(task, "id")), attempt);
}

void runner_note(struct cluster *c, const json_t *task, const char *outcome)
{
    char *key = key_of(c, task);

    if (key != NULL)
        json_object_set_new(sim_ledger(c->sim), key, json_string(outcome));
    free(key);
}

void runner_note_unsure(struct cluster *c, const json_t *task)
{
    char *key = key_of(c, task), *both;
    const char *was = key != NULL ? json_string_value(json_object_get(sim_ledger(c->sim), key)) : NULL;

    if (was != NULL && strchr(was, ' ') == NULL) {
        both = xasprintf("%s or lost", was);
        runner_note(c, task, both);
        free(both);
    }
    free(key);
}

json_t *runner_record(struct cluster *c, const char *job, int64_t started_ms, bool checkpoints, const json_t *task,
                      const char *outcome)
{
    bool good = strcmp(outcome, "succeeded") == 0, reached = strcmp(outcome, "reached") == 0;
    double now = (double)sim_now(c->sim) / 1000;
    json_t *record;

    runner_note(c, task, outcome);
    if (!is_training(task) && (good || (checkpoints && strcmp(outcome, "timeout") == 0 && sim_chance(c->sim, 500))))
        ranks_sent(c, task);
    record = json_pack("{s:i, s:s, s:O, s:s, s:f, s:f, s:s, s:o, s:n, s:s, s:f, s:i}", "version", 1, "job", job,
                       "id",
                  json_object_get(task, "id"), "host", "n1", "started", (double)started_ms / 1000, "ended", now,
                  "outcome", outcome, "exit_code", json_integer(good || reached ? 0 : 1), "signal", "reason",
                       good ? "" : "simulated",
                  "cpu_seconds", 0.0, "max_rss", 1);
    if (is_training(task) && strcmp(outcome, "failed") == 0 && ranks_were_killed(c, task))
        json_object_set_new(record, "killed", json_true());
    if (!is_training(task) && strcmp(outcome, "failed") == 0 && sim_chance(c->sim, sim_faults_of(c->sim)->task_killed)) {
        json_object_set_new(record, "killed", json_true());
        json_object_set_new(record, "exit_code", json_null());
        json_object_set_new(record, "signal", json_integer(9));
    }
    if (checkpoints)
        checkpoints_record(c, task, record);
    rungs_record(c, task, outcome, record);
    points_record(c, task, record);
    return record;
}

static void write_exit(struct cluster *c, struct cjob *job, const json_t *task, const char *outcome)
{
    json_t *record = runner_record(c, job->name, job->started_ms, leaves_checkpoints(c, job), task, outcome);

    const char *dir = json_string_value(json_object_get(task, "dir"));

    if (cluster_get(c, dir, "exit.json") == NULL) {
        cluster_put(c, dir, "exit.json", record);
    } else { /* the daemon has given the task up, and its record does not count */
        runner_note(c, task, "killed");
        json_decref(record);
    }
    runner_nudge(c, job->name, ENGINE_LOOK_RECORDS);
}

static void task_ends(struct sim *sim, void *arg);

static void end_later(struct cluster *c, struct cjob *job, json_t *task, int64_t when)
{
    struct task_end *end = xcalloc(1, sizeof *end);

    *end = (struct task_end){c, job, json_incref(task)};
    sim_at(c->sim, when, task_ends, end);
}

/* Returns how long a job lasts at least. If places are counted it is a second, because the number of jobs that may
 * wait ahead depends on it. */
static int64_t shortest(const struct cluster *c)
{
    return sim_slots(c->sim, c->adapter) > 0 ? 1000 : 0;
}

/* Returns the generation of the ranks, by the name of their directory, …/training/gN. */
static int generation_of(const char *dir)
{
    return atoi(strrchr(dir, '/') + 2);
}

/* All ranks of a job say the same. */
static void ranks_say(struct cluster *c, struct cjob *job, const char *dir, const char *state, bool early)
{
    size_t n = json_array_size(json_object_get(cluster_get(c, job->dir, "job.json"), "tasks"));
    double now = (double)sim_now(c->sim) / 1000;

    for (size_t rank = 0; rank < n; rank++) {
        char *name = xasprintf("done-rank%zu.json", rank);

        cluster_put(c, dir, name,
                    json_pack("{s:i, s:i, s:I, s:f, s:s, s:b}", "version", 1, "generation", generation_of(dir), "rank",
                              (json_int_t)rank, "time", now, "state", state, "early", (int)early));
        free(name);
    }
    runner_nudge(c, job->name, ENGINE_LOOK_STREAM);
}

/* A rank dies. Returns whether all go on in their job. */
static bool ranks_survive(struct cluster *c, struct cjob *job, const json_t *task)
{
    json_t *desc = cluster_get(c, job->dir, "job.json");

    do /* it may die again before anyone has looked */
        if (!ranks_begin_again(c, task, json_object_get(desc, "restarts")))
            return false;
    while (sim_chance(c->sim, 300));
    runner_nudge(c, job->name, ENGINE_LOOK_STREAM);
    return true;
}

/* Returns the outcome of the ranks of a job, which end together; NULL if they go on. */
static const char *ranks_outcome(struct cluster *c, struct cjob *job, const json_t *task)
{
    const char *dir = json_string_value(json_object_get(json_object_get(task, "env"), "STRETTO_TRAINING_DIR"));

    ranks_learn(c, task);
    elastic_tell(c, task);
    if (sim_chance(c->sim, sim_faults_of(c->sim)->ranks_restart))
        return ranks_survive(c, job, task) ? NULL : "failed";
    if (ranks_are_to_end(c, task) && sim_chance(c->sim, 400)) {
        ranks_save(c, task, true);
        ranks_say(c, job, dir, "unfinished", false);
    } else if (sim_chance(c->sim, sim_faults_of(c->sim)->ranks_time_out * (ranks_may_save(c, task) ? 8 : 1))) {
        int last = sim_faults_of(c->sim)->ranks_last;

        if (last < 0 || (last == 0 && sim_chance(c->sim, 400)) ||
            !ranks_save(c, task, last > 0 || sim_chance(c->sim, 500)))
            return "timeout";
        ranks_say(c, job, dir, "unfinished", false);
    } else if (cluster_get(c, dir, "reception.json") == NULL && sim_chance(c->sim, sim_faults_of(c->sim)->ranks_end_early)) {
        ranks_say(c, job, dir, "done", true);
    } else if (cluster_get(c, dir, "reception.json") == NULL) { /* it goes on until it is told that no more come */
        return NULL;
    } else {
        ranks_say(c, job, dir, "done", false);
    }
    return sim_chance(c->sim, sim_faults_of(c->sim)->ranks_fail) ? "failed" : "succeeded";
}

/* Writes down how a task has ended; the ranks of a job end together. */
static void write_ends(struct cluster *c, struct cjob *job, const json_t *task, const char *outcome)
{
    const json_t *tasks = json_object_get(cluster_get(c, job->dir, "job.json"), "tasks");

    for (size_t i = 0; i == 0 || (is_training(task) && i < json_array_size(tasks)); i++) {
        const json_t *one = is_training(task) && tasks != NULL ? json_array_get(tasks, i) : task;

        runner_count(c, one, -1);
        write_exit(c, job, one, outcome);
    }
}

/* Returns the outcome of a task whose time is over by itself; NULL if it goes on. */
static const char *own_outcome(struct cluster *c, struct cjob *job, const json_t *task)
{
    const char *outcome = job->cancelled ? "cancelled"
                          : sim_chance(c->sim, sim_faults_of(c->sim)->task_fails) ? "failed" : "succeeded";

    if (job->dead || job->cancelled || sim_ending(c->sim))
        return outcome;
    if (is_training(task))
        return ranks_outcome(c, job, task);
    return strcmp(outcome, "succeeded") != 0 || ranks_take(c, task) ? rungs_outcome(task, outcome) : NULL;
}

/* Returns whether the member goes on because its test says so. */
static bool is_held(struct cluster *c, const struct cjob *job, const json_t *task)
{
    const char *only = sim_faults_of(c->sim)->only_ends;

    return only != NULL && !job->dead && !job->cancelled && !sim_ending(c->sim) && !is_training(task) &&
           strcmp(json_string_value(json_object_get(task, "id")), only) != 0;
}

static void task_ends(struct sim *sim, void *arg)
{
    struct task_end *end = arg;
    struct cluster *c = end->cluster;
    struct cjob *job = end->job;
    const json_t *tasks = json_object_get(cluster_get(c, job->dir, "job.json"), "tasks");
    const char *outcome = is_held(c, job, end->task) ? NULL : own_outcome(c, job, end->task);
    size_t i;
    json_t *task;

    if (outcome == NULL) {
        end_later(c, job, end->task, sim_now(sim) + 1000);
        task_end_free(end);
        return;
    }
    if (!job->dead && leaves_checkpoints(c, job)) {
        checkpoints_leave(c, end->task);
        if (strcmp(outcome, "succeeded") == 0 && !checkpoints_are_done(c, end->task))
            outcome = "timeout";
    }
    if (!job->dead) {
        write_ends(c, job, end->task, outcome);
        json_array_foreach (tasks, i, task)
            if (cluster_get(c, json_string_value(json_object_get(task, "dir")), "exit.json") == NULL)
                goto others_run;
        cluster_put(c, job->dir, "ended.json",
                    json_pack("{s:i, s:f}", "version", 1, "time", (double)sim_now(sim) / 1000));
        runner_nudge(c, job->name, ENGINE_LOOK_RECORDS);
        cluster_over(c, job);
    }
others_run:
    task_end_free(end);
}

static void kill_tasks(struct cluster *c, struct cjob *job)
{
    const json_t *tasks = json_object_get(cluster_get(c, job->dir, "job.json"), "tasks");
    size_t i;
    json_t *task;

    job->node_lost = true;
    if (job->flight != NULL) {
        pilots_kill(job->flight);
        return;
    }
    json_array_foreach (tasks, i, task) {
        const json_t *record = cluster_get(c, json_string_value(json_object_get(task, "dir")), "exit.json");

        if (record != NULL && !json_is_true(json_object_get(record, "given_up")))
            continue;
        runner_count(c, task, -1);
        if (leaves_checkpoints(c, job))
            checkpoints_leave(c, task);
        runner_note(c, task, "killed");
    }
}

static bool runs_members(struct cluster *c, const struct cjob *job)
{
    return job->state == ADAPTER_JOB_RUNNING && !job->dead &&
           !is_training(json_array_get(json_object_get(cluster_get(c, job->dir, "job.json"), "tasks"), 0));
}

static void kill_node(struct cluster *c, int node)
{
    for (struct cjob *first = c->jobs; first != NULL; first = first->hh.next) {
        for (struct cjob *job = first; job != NULL; job = job->next) {
            if (job->node != node || !runs_members(c, job))
                continue;
            kill_tasks(c, job);
            cluster_over(c, job);
        }
    }
}

/* Kills a runner and its tasks: alone, or with all that its node runs, or so that the scheduler starts its job
 * again. */
static void kill_runner(struct sim *sim, void *arg)
{
    struct task_end *end = arg;
    struct cluster *c = end->cluster;
    struct cjob *job = end->job;

    if (!job->dead && job->state == ADAPTER_JOB_RUNNING) {
        switch (sim_random(sim, 3)) {
        case 0:
            kill_tasks(c, job);
            cluster_over(c, job);
            break;
        case 1: kill_node(c, job->node); break;
        case 2:
            kill_tasks(c, job);
            job->dead = true;
            cluster_release(c, job);
            cluster_set_state(c, job, ADAPTER_JOB_QUEUED);
            cluster_start_at(c, job, cluster_soon(c, (uint64_t)sim_faults_of(sim)->queue_ms));
            break;
        }
    }
    task_end_free(end);
}

/* Returns the running job of that name, and its cluster; NULL if there is none. */
static struct cjob *running(struct sim *sim, const char *name, struct cluster **c)
{
    for (int i = 0; i < SIM_ADAPTERS; i++) {
        *c = sim_cluster(sim, i);
        for (struct cjob *job = cluster_named(*c, name); job != NULL; job = job->next)
            if (job->state == ADAPTER_JOB_RUNNING && !job->dead)
                return job;
    }
    sim_violate(sim, "job %s does not run", name);
    return NULL;
}

void sim_kill(struct sim *sim, const char *name)
{
    struct cluster *c;
    struct cjob *job = running(sim, name, &c);

    if (job == NULL)
        return;
    kill_tasks(c, job);
    cluster_over(c, job);
}

void sim_get_on(struct sim *sim, const char *name)
{
    struct cluster *c;
    struct cjob *job = running(sim, name, &c);

    if (job == NULL)
        return;
    ranks_get_on(c, json_array_get(json_object_get(cluster_get(c, job->dir, "job.json"), "tasks"), 0));
    runner_nudge(c, job->name, ENGINE_LOOK_STREAM);
}

/* Verifies that no member starts when its training was told that no more come, unless that needs no more: then members
 * that were submitted before may still start. */
static void check_reception(struct cluster *c, const json_t *task)
{
    const char *id = json_string_value(json_object_get(task, "id"));
    const char *stream = json_string_value(json_object_get(json_object_get(task, "env"), "STRETTO_STREAM"));
    json_t *current = stream ? cluster_get(c, stream, "current.json") : NULL;
    char *dir = current ? xasprintf("%.*s/g%d", (int)(strlen(stream) - strlen("/stream")), stream,
                                    (int)json_integer_value(json_object_get(current, "generation")))
                        : NULL;

    if (dir != NULL && cluster_get(c, dir, "reception.json") != NULL &&
        !json_is_true(json_object_get(cluster_get(c, dir, "reception.json"), "early")))
        sim_violate(c->sim, "member %s started when its training had been told that no more come", id);
    free(dir);
}

void runner_begin(struct cluster *c, const json_t *task, bool checkpoints)
{
    runner_count(c, task, 1);
    runner_note(c, task, "running");
    if (checkpoints)
        checkpoints_begin_task(c, task);
    check_reception(c, task);
}

void runner_start(struct sim *sim, void *arg)
{
    struct task_end *start = arg;
    struct cluster *c = start->cluster;
    struct cjob *job = start->job;
    json_t *desc = cluster_get(c, job->dir, "job.json"), *task;
    const char *only = sim_faults_of(sim)->only_starts;
    bool pilot;
    size_t i;

    free(start);
    if (job->state != ADAPTER_JOB_QUEUED)
        return;
    if (sim_now(sim) < job->held_ms) {
        if (job->held_ms != INT64_MAX) /* otherwise the job must be taken out of the queue */
            cluster_start_at(c, job, job->held_ms);
        return;
    }
    if (desc != NULL && only != NULL && strcmp(json_string_value(json_object_get(desc, "kind")), only) != 0) {
        cluster_start_at(c, job, sim_now(sim) + 1000);
        return;
    }
    if (!cluster_take_cpus(c, job))
        return;
    if (sim_chance(sim, sim_faults_of(sim)->queue_lost)) {
        cluster_release(c, job);
        cluster_set_state(c, job, ADAPTER_JOB_UNKNOWN);
        return;
    }
    cluster_set_state(c, job, ADAPTER_JOB_RUNNING);
    job->started_ms = sim_now(sim);
    if (desc == NULL) {
        sim_violate(sim, "job %s was submitted before its descriptor was on disk", job->name);
        return;
    }
    json_incref(desc); /* the daemon may hand over the job again meanwhile, which replaces its descriptor */
    cluster_poke(c);
    if (cluster_get(c, job->dir, "claim.json") != NULL) { /* another runner has claimed it */
        cluster_over(c, job);
        json_decref(desc);
        return;
    }
    cluster_put(c, job->dir, "claim.json",
        json_pack("{s:i, s:f, s:s}", "version", 1, "time", (double)sim_now(sim) / 1000, "host", "n1"));
    runner_nudge(c, job->name, ENGINE_LOOK_RECORDS);
    pilot = strcmp(json_string_value(json_object_get(desc, "kind")), "pilot") == 0;
    if (pilot)
        pilots_start(c, job);
    json_array_foreach (json_object_get(desc, "tasks"), i, task) {
        if (pilot)
            break;
        if (!is_training(task))
            runner_begin(c, task, leaves_checkpoints(c, job));
        else
            runner_count(c, task, 1);
        if (is_training(task)) {
            const json_t *env = json_object_get(task, "env");
            char *file = xasprintf("g%d-rank%zu.json",
                                   generation_of(json_string_value(json_object_get(env, "STRETTO_TRAINING_DIR"))), i);

            cluster_put(c, json_string_value(json_object_get(env, "STRETTO_STREAM")), file,
                        json_pack("{s:i}", "version", 1));
            free(file);
            runner_nudge(c, job->name, ENGINE_LOOK_STREAM);
            if (i > 0) /* the first one speaks for all */
                continue;
            ranks_begin(c, task);
        }
        end_later(c, job, task,
                  elastic_tells(task) ? sim_now(sim) + 1000
                                      : shortest(c) + cluster_soon(c, (uint64_t)sim_faults_of(sim)->run_ms));
    }
    json_decref(desc);
    if (sim_chance(sim, sim_faults_of(sim)->runner_killed)) {
        struct task_end *end = xcalloc(1, sizeof *end);

        *end = (struct task_end){c, job, NULL};
        sim_at(sim, shortest(c) + cluster_soon(c, pilot ? DIES_MS : (uint64_t)sim_faults_of(sim)->run_ms), kill_runner,
               end);
    }
}
