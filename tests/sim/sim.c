#include "tests/sim/sim.h"

#include "common/heap.h"
#include "common/xalloc.h"
#include "daemon/store/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct event {
    struct heap_node node; /* by time, then by the order in which they were made */
    sim_event_fn *fn;
    void *arg;
};

struct sim {
    uint64_t random;
    struct sim_faults faults;
    const char *state_dir;
    int64_t now, wake;
    int64_t order;
    struct heap events;
    json_t *files;
    int64_t engine_ns, entered_ns; /* spent in the daemon's part; since when it is in it, 0 not */
    struct cluster *cluster;
    bool commit_failed, ending;
    char violation[300];

    uv_loop_t loop;
    uv_idle_t alive; /* a loop with nothing in it would not even end its turn */
    struct store *store; /* NULL while crashed, and all below */
    struct turn *turn;
    struct engine *engine;
};

uint64_t sim_random(struct sim *sim, uint64_t below)
{
    uint64_t z = sim->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % below;
}

bool sim_chance(struct sim *sim, int per_mille)
{
    return (int)sim_random(sim, 1000) < per_mille;
}

int64_t sim_now(const struct sim *sim)
{
    return sim->now;
}

struct engine *sim_engine(struct sim *sim)
{
    return sim->engine;
}

struct store *sim_store(struct sim *sim)
{
    return sim->store;
}

const struct sim_faults *sim_faults_of(const struct sim *sim)
{
    return &sim->faults;
}

bool sim_ending(const struct sim *sim)
{
    return sim->ending;
}

json_t *sim_files(struct sim *sim)
{
    return sim->files;
}

int sim_live_jobs(const struct sim *sim)
{
    return cluster_live_jobs(sim->cluster);
}

const char *sim_violation(const struct sim *sim)
{
    return sim->violation[0] ? sim->violation : NULL;
}

void sim_violate(struct sim *sim, const char *fmt, ...)
{
    va_list ap;

    if (sim->violation[0])
        return;
    va_start(ap, fmt);
    vsnprintf(sim->violation, sizeof sim->violation, fmt, ap);
    va_end(ap);
}

void sim_at(struct sim *sim, int64_t when_ms, sim_event_fn *fn, void *arg)
{
    struct event *event = xcalloc(1, sizeof *event);

    event->fn = fn;
    event->arg = arg;
    heap_set(&sim->events, &event->node, when_ms < sim->now ? sim->now : when_ms, sim->order++);
}

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

void sim_enter(struct sim *sim)
{
    sim->entered_ns = now_ns();
}

void sim_leave(struct sim *sim)
{
    sim->engine_ns += now_ns() - sim->entered_ns;
}

int64_t sim_engine_ns(const struct sim *sim)
{
    return sim->engine_ns;
}

static int64_t port_now(void *arg)
{
    return ((struct sim *)arg)->now;
}

static void port_wake_at(void *arg, int64_t when_ms)
{
    ((struct sim *)arg)->wake = when_ms;
}

static void port_random(void *arg, void *out, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((unsigned char *)out)[i] = (unsigned char)sim_random(arg, 256);
}

static void on_rolled_back(void *arg)
{
    struct sim *sim = arg;

    sim->commit_failed = true;
    if (sim->engine != NULL)
        engine_rest(sim->engine);
}

static int on_commit(void *arg)
{
    struct sim *sim = arg;

    return sim->engine != NULL && sim_chance(sim, sim->faults.commit_fails);
}

static void violate(sqlite3_context *context, int n, sqlite3_value **values)
{
    sim_violate(sqlite3_user_data(context), "%s", (const char *)sqlite3_value_text(values[0]));
}

/* The database itself watches what may never be written, not even for the length of a turn. */
static void watch(struct sim *sim)
{
    static const char triggers[] =
        "CREATE TEMP TRIGGER dispatched AFTER INSERT ON main.attempt WHEN (SELECT count(*) FROM main.attempt a WHERE "
        "a.ensemble = NEW.ensemble AND a.outcome IS NULL) > (SELECT width FROM main.ensemble WHERE id = NEW.ensemble) "
        "BEGIN SELECT violate('an attempt was made above the width'); END;"
        "CREATE TEMP TRIGGER dispatched_paused AFTER INSERT ON main.job WHEN (SELECT state FROM main.ensemble WHERE id = "
        "NEW.ensemble) <> 'running' BEGIN SELECT violate('a job was made for an ensemble that is not running'); END;";
    char *why = NULL;

    sqlite3_create_function(sim->store->db, "violate", 1, SQLITE_UTF8, sim, violate, NULL, NULL);
    if (sqlite3_exec(sim->store->db, triggers, NULL, NULL, &why) != SQLITE_OK)
        sim_violate(sim, "the store cannot be watched: %s", why);
    sqlite3_free(why);
}

void sim_boot(struct sim *sim)
{
    struct engine_ports ports = {
        .now_ms = port_now,
        .wake_at = port_wake_at,
        .random = port_random,
        .arg = sim,
        .rundir_ops = &sim_disk_ops,
        .rundir = sim,
        .run_dir = "/run",
        .control_endpoint = "",
        .python = "",
        .python_path = "",
        .examples_dir = "",
    };
    struct error err;

    if (store_open(&sim->store, sim->state_dir, &err) < 0) {
        sim_violate(sim, "the store does not open: %s", err.text);
        return;
    }
    sqlite3_exec(sim->store->db, "PRAGMA synchronous = OFF", NULL, NULL, NULL); /* the power does not fail here */
    if (!sim->faults.tidy) /* it costs as much as there is */
        watch(sim);
    sqlite3_commit_hook(sim->store->db, on_commit, sim);
    sim->turn = turn_create(&sim->loop, sim->store, on_rolled_back, sim);
    sim->engine = engine_create(&ports, sim->store, sim->turn);
    engine_add_adapter(sim->engine, &cluster_ops, cluster_adapter(sim->cluster), 0);
    if (engine_load(sim->engine, &err) < 0)
        sim_violate(sim, "the state cannot be read: %s", err.text);
}

static void nothing_kept(void *arg, const struct error *err)
{
}

void sim_crash(struct sim *sim)
{
    if (sim->engine == NULL)
        return;
    engine_stop(sim->engine);
    disk_drop_all();
    cluster_drop_all(sim->cluster);
    /* what waits for a commit is told that there is none, so that its memory is freed; the changes go with it */
    sqlite3_commit_hook(sim->store->db, NULL, NULL);
    sim->store->doomed = sim->store->in_transaction;
    turn_after_commit(sim->turn, nothing_kept, NULL);
    turn_destroy(sim->turn);
    uv_run(&sim->loop, UV_RUN_NOWAIT);
    engine_destroy(sim->engine);
    store_close(sim->store);
    sim->engine = NULL;
    sim->turn = NULL;
    sim->store = NULL;
    sim->wake = INT64_MAX;
}

int sim_turn(struct sim *sim)
{
    sim->commit_failed = false;
    sim_enter(sim);
    uv_run(&sim->loop, UV_RUN_NOWAIT);
    sim_leave(sim);
    return sim->commit_failed ? -1 : 0;
}

/* The next thing that happens, without the end of its turn. */
static bool next(struct sim *sim)
{
    struct heap_node *first = heap_first(&sim->events);

    if (first == NULL && sim->wake == INT64_MAX)
        return false;
    if (first != NULL && first->key <= sim->wake) {
        struct event *event = heap_entry(first, struct event, node);

        heap_remove(&sim->events, first);
        sim->now = first->key;
        event->fn(sim, event->arg);
        free(event);
    } else {
        if (sim->wake > sim->now)
            sim->now = sim->wake;
        sim->wake = INT64_MAX;
        sim_enter(sim);
        if (sim->engine != NULL)
            engine_tick(sim->engine);
        sim_leave(sim);
    }
    return true;
}

bool sim_step(struct sim *sim)
{
    bool more = next(sim);

    if (more)
        sim_turn(sim);
    return more;
}

bool sim_step_ms(struct sim *sim)
{
    int64_t now;

    if (!next(sim))
        return false;
    now = sim->now;
    while (sim->events.n > 0 && heap_first(&sim->events)->key <= now)
        next(sim);
    sim_turn(sim);
    return true;
}

static void on_idle(uv_idle_t *idle)
{
}

struct sim *sim_create(uint64_t seed, const struct sim_faults *faults, const char *state_dir)
{
    struct sim *sim = xcalloc(1, sizeof *sim);

    sim->random = seed;
    sim->faults = *faults;
    sim->state_dir = state_dir;
    sim->now = INT64_C(1700000000000);
    sim->wake = INT64_MAX;
    sim->files = json_object();
    uv_loop_init(&sim->loop);
    uv_idle_init(&sim->loop, &sim->alive);
    uv_idle_start(&sim->alive, on_idle);
    sim->cluster = cluster_create(sim);
    return sim;
}

void sim_destroy(struct sim *sim)
{
    sim_crash(sim);
    sim->ending = true;
    while (sim->events.n > 0)
        sim_step(sim); /* events free what they hold; without an engine they change nothing */
    cluster_destroy(sim->cluster);
    json_decref(sim->files);
    uv_close((uv_handle_t *)&sim->alive, NULL);
    uv_run(&sim->loop, UV_RUN_DEFAULT);
    uv_loop_close(&sim->loop);
    heap_fini(&sim->events);
    free(sim);
}
