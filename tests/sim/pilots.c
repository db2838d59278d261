/* A simulated pilot on a node of an allocation (docs/run-directory.md, Pilots). It takes jobs from its inbox, starts
 * them in their order as soon as there is room for them, and tells of them in its journal. It ends when it was idle for
 * long enough or has too little time left for another job, and all that it runs dies with it. */
#include "tests/sim/pilots.h"

#include "common/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END_MS 2000     /* a task that is told to end takes at most this */
#define SYNCED_MS 100   /* lines of the journal that are older survive a crash of their node */
#define UNFLUSHED_MS 30000 /* other files that are older survive a crash of their node */
#define LONG_MS 1800000 /* a few tasks take up to this */

/* The coming end of a task that runs. */
struct ending {
    struct inner *inner;
    size_t task;
    const char *outcome; /* NULL: drawn when the end comes */
    bool late;
};

static struct sim *sim_of(const struct node *node)
{
    return node->flight->cluster->sim;
}

static const json_t *task_of(const struct inner *inner, size_t i)
{
    return json_array_get(json_object_get(inner->descriptor, "tasks"), i);
}

/* Writes a line into the pilot's journal, and takes over `line`. */
void pilots_say(struct node *node, const char *what, json_t *line)
{
    int64_t now = sim_now(sim_of(node));
    char *text;

    if (now - node->synced_ms > SYNCED_MS) {
        node->synced = node->journal.size;
        node->synced_ms = now;
    }
    json_object_set_new(line, "what", json_string(what));
    json_object_set_new(line, "time", json_real((double)now / 1000));
    text = json_dumps(line, JSON_COMPACT);
    text_add(&node->journal, "%s\n", text);
    free(text);
    json_decref(line);
    runner_nudge(node->flight->cluster, node->flight->job->name, ENGINE_LOOK_RECORDS);
}

void pilots_return(struct inner *inner, const char *why)
{
    inner->state = INNER_RETURNED;
    pilots_say(inner->node, "return", json_pack("{s:s, s:s}", "job", inner->name, "why", why));
}

struct inner *pilots_queued(const struct node *node)
{
    struct inner *inner;

    DL_FOREACH (node->jobs, inner)
        if (inner->state == INNER_QUEUED)
            return inner;
    return NULL;
}

/* Ends a job. Its records are in its tasks' directories, and mostly handed back as well. If its runner was killed,
 * there are none. */
static void inner_over(struct inner *inner, int status)
{
    struct node *node = inner->node;
    struct cluster *c = node->flight->cluster;
    json_t *line = json_pack("{s:s, s:i}", "job", inner->name, "status", status);
    bool handed = status == 0 && !sim_chance(c->sim, sim_faults_of(c->sim)->records_lost / 2);

    inner->state = INNER_ENDED;
    node->cpus_used -= inner->cpus;
    node->gpus_used -= inner->gpus;
    node->memory_used -= inner->memory;
    node->running--;
    node->idle_since = sim_now(c->sim);
    if (handed)
        json_object_set(line, "records", inner->records);
    else if (status == 0)
        cluster_put(c, inner->dir, "ended.json",
                    json_pack("{s:i, s:f}", "version", 1, "time", (double)sim_now(c->sim) / 1000));
    pilots_say(node, "end", line);
    inner->said = handed ? node->journal.size : 0;
}

/* Kills the tasks of a job that have not ended, so that nobody writes down how they ended. */
static void kill_tasks(struct inner *inner)
{
    struct cluster *c = inner->node->flight->cluster;

    for (size_t i = 0; i < json_array_size(inner->records); i++) {
        if (!json_is_null(json_array_get(inner->records, i)))
            continue;
        runner_count(c, task_of(inner, i), -1);
        if (checkpoints_any(inner->descriptor))
            checkpoints_leave(c, task_of(inner, i));
        runner_note(c, task_of(inner, i), "killed");
    }
}

static void runner_dies(struct sim *sim, void *arg)
{
    struct inner *inner = arg;

    if (inner->state != INNER_RUNNING || inner->node->gone)
        return;
    kill_tasks(inner);
    inner_over(inner, 137);
    pilots_settle(inner->node);
}

/* Removes records that were not flushed, as a crash of their node does. If the journal does not have a record
 * either, the outcome of its task may have been any. */
static void lose_files(struct inner *inner)
{
    struct node *node = inner->node;
    struct cluster *c = node->flight->cluster;

    if (inner->records == NULL || sim_now(c->sim) - inner->ended_ms > UNFLUSHED_MS || !sim_chance(c->sim, 500))
        return;
    for (size_t i = 0; i < json_array_size(inner->records); i++) {
        if (json_is_null(json_array_get(inner->records, i)))
            continue;
        cluster_drop(c, json_string_value(json_object_get(task_of(inner, i), "dir")), "exit.json");
        if (inner->said == 0 || inner->said > node->synced)
            runner_note_unsure(c, task_of(inner, i));
    }
    cluster_drop(c, inner->dir, "ended.json");
}

/* Kills the pilot and all that it runs. A crash of the node also takes with it the end of the journal, which was not
 * flushed; where only the pilot was killed, all that was written stays. */
void pilots_kill_node(struct node *node, bool crash)
{
    struct inner *inner;

    if (node->gone)
        return;
    node->gone = true;
    DL_FOREACH (node->jobs, inner)
        if (inner->state == INNER_RUNNING)
            kill_tasks(inner);
    if (!crash || node->journal.data == NULL)
        return;
    if (sim_now(sim_of(node)) - node->synced_ms > SYNCED_MS)
        node->synced = node->journal.size;
    DL_FOREACH (node->jobs, inner)
        lose_files(inner);
    node->journal.data[node->synced] = '\0';
    node->journal.size = node->synced;
}

static sim_event_fn task_ends;

static void end_at(struct inner *inner, size_t task, int64_t when, const char *outcome, bool late)
{
    struct ending *end = xcalloc(1, sizeof *end);

    *end = (struct ending){inner, task, outcome, late};
    sim_at(sim_of(inner->node), when, task_ends, end);
}

/* Returns how long after its beginning a task must have ended at the latest, INT64_MAX for never, by its walltime and
 * the time of its allocation. */
static int64_t most_ms(const struct inner *inner, bool *late)
{
    int64_t walltime = (int64_t)(1000 * json_number_value(json_object_get(inner->descriptor, "walltime")));
    const struct flight *flight = inner->node->flight;
    int64_t left = flight->deadline_ms - flight->skew_ms - inner->started_ms;

    *late = left < walltime;
    return walltime <= 0 ? INT64_MAX : walltime < left ? walltime : left;
}

/* Lets a task that waits for ranks end a second later, or when its time is over. */
static void wait_for_ranks(struct inner *inner, size_t task)
{
    struct sim *sim = sim_of(inner->node);
    bool late;
    int64_t most = most_ms(inner, &late), ms = sim_now(sim) + 1000 - inner->started_ms;

    end_at(inner, task, inner->started_ms + (ms < most ? ms : most), ms < most ? NULL : "timeout", late);
}

static void task_ends(struct sim *sim, void *arg)
{
    struct ending end = *(struct ending *)arg;
    struct inner *inner = end.inner;
    struct cluster *c = inner->node->flight->cluster;
    const json_t *task = task_of(inner, end.task);
    bool checkpoints = checkpoints_any(inner->descriptor);
    json_t *record;

    free(arg);
    if (inner->state != INNER_RUNNING || inner->node->gone || !json_is_null(json_array_get(inner->records, end.task)))
        return;
    if (end.outcome == NULL)
        end.outcome = rungs_outcome(task, sim_chance(sim, sim_faults_of(sim)->task_fails) ? "failed" : "succeeded");
    if (strcmp(end.outcome, "succeeded") == 0 && !sim_ending(sim) && !ranks_take(c, task)) {
        wait_for_ranks(inner, end.task);
        return;
    }
    if (checkpoints)
        checkpoints_leave(c, task);
    if (checkpoints && strcmp(end.outcome, "succeeded") == 0 && !checkpoints_are_done(c, task))
        end.outcome = "timeout";
    runner_count(c, task, -1);
    record = runner_record(c, inner->name, inner->started_ms, checkpoints, task, end.outcome);
    if (end.late)
        json_object_set_new(record, "late", json_true());
    json_array_set(inner->records, end.task, record);
    cluster_put(c, json_string_value(json_object_get(task, "dir")), "exit.json", record);
    inner->ended_ms = sim_now(sim);
    if (--inner->open == 0)
        inner_over(inner, 0);
    pilots_settle(inner->node);
}

void pilots_end(struct inner *inner, const char *outcome, bool late)
{
    struct cluster *c = inner->node->flight->cluster;

    if (inner->told_to_end)
        return;
    inner->told_to_end = true;
    for (size_t i = 0; i < json_array_size(inner->records); i++)
        end_at(inner, i, cluster_soon(c, END_MS), outcome, late);
}

/* Begins a task, which ends within its walltime and the time of its allocation. */
static void begin_task(struct inner *inner, size_t i)
{
    struct cluster *c = inner->node->flight->cluster;
    bool late;
    int64_t most = most_ms(inner, &late);
    int64_t ms = (int64_t)sim_random(c->sim, sim_chance(c->sim, sim_faults_of(c->sim)->lies > 0 ? 30 : 0)
                                                 ? LONG_MS
                                                 : (uint64_t)sim_faults_of(c->sim)->run_ms);

    runner_begin(c, task_of(inner, i), checkpoints_any(inner->descriptor));
    end_at(inner, i, inner->started_ms + (ms < most ? ms : most), ms < most ? NULL : "timeout", late);
}

static void start(struct inner *inner)
{
    struct node *node = inner->node;
    struct cluster *c = node->flight->cluster;

    inner->state = INNER_RUNNING;
    inner->started_ms = sim_now(c->sim);
    inner->records = json_array();
    node->cpus_used += inner->cpus;
    node->gpus_used += inner->gpus;
    node->memory_used += inner->memory;
    node->running++;
    pilots_say(node, "start", json_pack("{s:s}", "job", inner->name));
    if (cluster_get(c, inner->dir, "claim.json") != NULL) { /* another runner or the daemon itself has claimed it */
        inner_over(inner, 75);
        return;
    }
    node->flight->begun = true;
    cluster_put(c, inner->dir, "claim.json",
                json_pack("{s:i, s:f, s:s}", "version", 1, "time", (double)inner->started_ms / 1000, "host", "n1"));
    inner->open = json_array_size(json_object_get(inner->descriptor, "tasks"));
    for (size_t i = 0; i < inner->open; i++)
        json_array_append_new(inner->records, json_null());
    for (size_t i = 0; i < inner->open; i++)
        begin_task(inner, i);
    if (sim_chance(c->sim, sim_faults_of(c->sim)->runner_killed))
        sim_at(c->sim, cluster_soon(c, (uint64_t)sim_faults_of(c->sim)->run_ms), runner_dies, inner);
}

static void start_what_fits(struct node *node)
{
    const struct flight *flight = node->flight;
    struct inner *inner;

    while (!flight->stopping && (inner = pilots_queued(node)) != NULL) {
        if (flight->deadline_ms != INT64_MAX &&
            sim_now(sim_of(node)) + flight->skew_ms + inner->least_ms > flight->deadline_ms)
            pilots_return(inner, "what is left of the allocation's time is too little");
        else if (inner->cpus > node->cpus || inner->gpus > node->gpus || inner->memory > node->memory)
            pilots_return(inner, "it is more than the node has");
        else if (node->cpus_used + inner->cpus <= node->cpus && node->gpus_used + inner->gpus <= node->gpus &&
                 node->memory_used + inner->memory <= node->memory)
            start(inner);
        else
            return;
    }
}

/* Returns why the node is given back now. If it is not, returns NULL, and sets *again to the time at which to look
 * again. */
static const char *why_over(const struct node *node, int64_t *again)
{
    const struct flight *flight = node->flight;
    int64_t now = sim_now(sim_of(node));
    int64_t late = flight->deadline_ms == INT64_MAX ? INT64_MAX
                                                    : flight->deadline_ms - flight->skew_ms - flight->least_ms;

    *again = INT64_MAX;
    if (node->running > 0)
        return NULL;
    if (flight->stopping)
        return "told to end";
    if (pilots_queued(node) != NULL)
        return NULL;
    if (now > late)
        return "no member fits what is left of its time";
    if (now - node->idle_since >= flight->idle_ms)
        return "idle";
    *again = node->idle_since + flight->idle_ms;
    if (late < *again)
        *again = late + 1;
    return NULL;
}

static void look(struct sim *sim, void *arg)
{
    pilots_settle(arg);
}

void pilots_settle(struct node *node)
{
    int64_t again;
    const char *why;

    if (!node->up || node->gone)
        return;
    start_what_fits(node);
    why = why_over(node, &again);
    if (why == NULL && again != INT64_MAX)
        sim_at(sim_of(node), again, look, node);
    if (why == NULL)
        return;
    pilots_say(node, "over", json_pack("{s:s}", "why", why));
    node->gone = true;
    pilots_node_gone(node->flight);
}
