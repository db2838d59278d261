#include "tests/sim/sim.h"

#include "common/heap.h"
#include "common/xalloc.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/engine.h"
#include "daemon/store/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct event {
    struct heap_node node; /* ordered by time, then by the order in which they were made */
    sim_event_fn *fn;
    void *arg;
};

#define WAKE_MAX_MS 60000
#define WANTED 128 /* the number of ensembles, at most */

struct sim {
    uint64_t random;
    struct sim_faults faults;
    const char *state_dir;
    int64_t now, set, wake, up_ms; /* set: what the clock of the daemon's host is ahead of all others' */
    int64_t wanted[WANTED];
    int64_t order;
    struct heap events;
    json_t *files;
    int64_t loaded;
    int64_t engine_ns, entered_ns; /* time spent in the daemon's part, and since when it is in it (0: it is not) */
    json_t *ledger;
    struct cluster *clusters[SIM_ADAPTERS];
    int slots[SIM_ADAPTERS], max_jobs[SIM_ADAPTERS];
    bool commit_failed, crashing, ending;
    char violation[300];

    uv_loop_t loop;
    uv_idle_t alive; /* keeps the loop alive, since an empty one would not even end its turn */
    struct store *kept;  /* a connection that goes on over a crash */
    int lives;
    struct store *store; /* this and all below: NULL while crashed */
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

int64_t sim_wall(const struct sim *sim)
{
    return sim->now + sim->set;
}

void sim_set_clock(struct sim *sim, int64_t by_ms)
{
    sim->set += by_ms;
}

int64_t sim_loaded_ms(const struct sim *sim)
{
    return sim->loaded;
}

int64_t sim_up_ms(const struct sim *sim)
{
    return sim->up_ms;
}

int64_t sim_wanted_since(struct sim *sim, int64_t ensemble, bool wants)
{
    int64_t *since = &sim->wanted[ensemble % WANTED];

    if (!wants)
        *since = 0;
    else if (*since == 0)
        *since = sim->up_ms;
    return *since;
}

struct engine *sim_engine(struct sim *sim)
{
    return sim->engine;
}

struct ensemble_row sim_left;
struct training_row sim_left_training;

void sim_check_left(struct sim *sim, int64_t ensemble)
{
    const struct ensemble_row *left = &sim_left;
    struct ensemble_row row;
    struct error err;

    if (store_ensemble_get(sim->store, ensemble, &row, &err) != 1)
        sim_violate(sim, "ensemble %lld was changed, and cannot be read", (long long)ensemble);
    else if (left->id != row.id || left->state != row.state || strcmp(left->name, row.name) != 0 ||
             strcmp(left->reason, row.reason) != 0 || strcmp(left->adapter, row.adapter) != 0 ||
             left->intake != row.intake || left->count != row.count || left->width != row.width ||
             left->next_index != row.next_index || left->root != row.root || left->parent != row.parent ||
             left->after != row.after || left->created_ms != row.created_ms || left->ended_ms != row.ended_ms ||
             strcmp(left->paused_by, row.paused_by) != 0 || left->paused_ms != row.paused_ms)
        sim_violate(sim, "a call about ensemble %lld gives another row than it has stored", (long long)ensemble);
}

int sim_submit(struct sim *sim, const json_t *spec, int64_t *id, struct error *err)
{
    if (engine_submit(sim->engine, spec, NULL, &sim_left, err) < 0)
        return -1;
    *id = sim_left.id;
    return 0;
}

struct store *sim_store(struct sim *sim)
{
    return sim->store;
}

const struct sim_faults *sim_faults_of(const struct sim *sim)
{
    return &sim->faults;
}

void sim_set_faults(struct sim *sim, const struct sim_faults *faults)
{
    sim->faults = *faults;
}

bool sim_ending(const struct sim *sim)
{
    return sim->ending;
}

json_t *sim_files(struct sim *sim)
{
    return sim->files;
}

struct cluster *sim_cluster(struct sim *sim, int adapter)
{
    return sim->clusters[adapter];
}

int sim_live_jobs(const struct sim *sim)
{
    int n = 0;

    for (int i = 0; i < SIM_ADAPTERS; i++)
        n += cluster_live_jobs(sim->clusters[i]);
    return n;
}

int sim_cancels(const struct sim *sim)
{
    int n = 0;

    for (int i = 0; i < SIM_ADAPTERS; i++)
        n += cluster_cancels(sim->clusters[i]);
    return n;
}

int sim_polls_in_silence(const struct sim *sim)
{
    int n = 0;

    for (int i = 0; i < SIM_ADAPTERS; i++)
        n += cluster_polls_in_silence(sim->clusters[i]);
    return n;
}

void sim_roll_back(struct sim *sim)
{
    for (int i = 0; i < SIM_ADAPTERS; i++)
        cluster_roll_back(sim->clusters[i]);
}

void sim_check_queues(struct sim *sim)
{
    for (int i = 0; i < SIM_ADAPTERS; i++)
        cluster_check_queue(sim->clusters[i]);
}

json_t *sim_ledger(struct sim *sim)
{
    return sim->ledger;
}

bool sim_told_ended(struct sim *sim, const char *job)
{
    for (int i = 0; i < SIM_ADAPTERS; i++)
        if (cluster_told_ended(sim->clusters[i], job))
            return true;
    return false;
}

void sim_limit(struct sim *sim, int adapter, int slots, int max_jobs)
{
    sim->slots[adapter] = slots;
    sim->max_jobs[adapter] = max_jobs;
}

int sim_slots(const struct sim *sim, int adapter)
{
    return sim->slots[adapter];
}

int sim_max_jobs(const struct sim *sim, int adapter)
{
    return sim->max_jobs[adapter];
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

/* Only long runs are timed: the clock of the thread costs a short one a fifteenth of its time. */
static int64_t now_ns(const struct sim *sim)
{
    struct timespec t;

    if (!sim->faults.tidy)
        return 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

void sim_enter(struct sim *sim)
{
    sim->entered_ns = now_ns(sim);
}

void sim_leave(struct sim *sim)
{
    sim->engine_ns += now_ns(sim) - sim->entered_ns;
}

int64_t sim_engine_ns(const struct sim *sim)
{
    return sim->engine_ns;
}

static int64_t port_wall(void *arg)
{
    return sim_wall(arg);
}

static int64_t port_steady(void *arg)
{
    return ((struct sim *)arg)->now;
}

static void port_wake_in(void *arg, int64_t ms)
{
    struct sim *sim = arg;

    sim->wake = ms == INT64_MAX ? INT64_MAX : sim->now + (ms > WAKE_MAX_MS ? WAKE_MAX_MS : ms);
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
    sim->loaded = sim->now;
    if (sim->engine != NULL)
        engine_rest(sim->engine);
}

static int on_commit(void *arg)
{
    struct sim *sim = arg;

    if (sim->engine == NULL)
        return 0;
    if (sim_chance(sim, sim->faults.commit_crashes)) {
        sim->crashing = true;
        return 1;
    }
    return sim_chance(sim, sim->faults.commit_fails);
}

void sim_commits_fail(struct sim *sim, bool may)
{
    sqlite3_commit_hook(sim->store->db, may ? on_commit : NULL, sim);
}

/* Simulates a crash after a commit, before the daemon can act on what was committed: reply to a call, or submit a
 * job. */
static void committed(void *arg)
{
    struct sim *sim = arg;

    if (sim->engine == NULL || !sim_chance(sim, sim->faults.commit_crashes))
        return;
    sim->crashing = true;
    engine_stop(sim->engine);
}

/* Opens the store. Opening it, and preparing each statement anew, takes more time than all that a daemon does in most
 * of its lives. SQLite keeps nothing of a transaction that is rolled back, so seven of eight lives go on with the
 * connection of the one before. */
static int open_store(struct sim *sim)
{
    struct error err;

    sim->store = sim->kept;
    sim->kept = NULL;
    if (sim->store == NULL) {
        if (store_open(&sim->store, sim->state_dir, &err) < 0) {
            sim_violate(sim, "the store does not open: %s", err.text);
            return -1;
        }
        /* Nobody else has it open: its locks are kept, which takes a tenth of the time less than to take them for each
         * statement. If files fail by design, locks are among what fails. */
        if (strcmp(sqlite3_vfs_find(NULL)->zName, "unix") == 0)
            sqlite3_exec(sim->store->db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
        if (!sim->faults.tidy) /* watching takes time for each row, which long runs cannot afford */
            watch_store(sim);
    }
    sim_commits_fail(sim, true);
    return 0;
}

static void close_store(struct sim *sim)
{
    if (++sim->lives % 8 == 0)
        store_close(sim->store);
    else
        sim->kept = sim->store;
    sim->store = NULL;
}

void sim_boot(struct sim *sim)
{
    struct engine_ports ports = {
        .wall_ms = port_wall,
        .steady_ms = port_steady,
        .wake_in = port_wake_in,
        .random = port_random,
        .arg = sim,
        .rundir_ops = &sim_disk_ops,
        .rundir = sim,
        .run_dir = "/run",
        .control_path = "",
        .runner = "/stretto-run",
        .python = "",
        .python_path = "",
        .examples_dir = "",
    };
    struct error err;

    sim->loaded = sim->now;
    if (open_store(sim) < 0)
        return;
    sim->turn = turn_create(&sim->loop, sim->store, on_rolled_back, sim);
    sim->engine = engine_create(&ports, sim->store, sim->turn);
    sim->engine->slice = 1 + (int)(sim->order % 7);
    turn_on_commit(sim->turn, committed, sim);
    for (int i = 0; i < SIM_ADAPTERS; i++)
        engine_add_adapter(sim->engine, &cluster_ops[i], cluster_adapter(sim->clusters[i]), sim->max_jobs[i]);
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
    for (int i = 0; i < SIM_ADAPTERS; i++)
        cluster_drop_all(sim->clusters[i]);
    /* tell everybody who waits for a commit that there is none, so that their memory is freed; the changes are undone
     * with it */
    sqlite3_commit_hook(sim->store->db, NULL, NULL);
    turn_on_commit(sim->turn, NULL, NULL);
    sim->crashing = false;
    sim->store->doomed = sim->store->in_transaction;
    turn_after_commit(sim->turn, nothing_kept, NULL);
    turn_destroy(sim->turn);
    uv_run(&sim->loop, UV_RUN_NOWAIT);
    engine_destroy(sim->engine);
    close_store(sim);
    sim->engine = NULL;
    sim->turn = NULL;
    sim->wake = INT64_MAX;
}

void sim_outlive(struct sim *sim)
{
    sim->faults.commit_crashes = 0;
}

int sim_turn(struct sim *sim)
{
    sim->commit_failed = false;
    sim_enter(sim);
    uv_run(&sim->loop, UV_RUN_NOWAIT);
    sim_leave(sim);
    if (sim->crashing) {
        sim_crash(sim);
        return -1;
    }
    for (int i = 0; i < SIM_ADAPTERS && sim->engine != NULL; i++)
        cluster_check_orders(sim->clusters[i]);
    return sim->commit_failed ? -1 : 0;
}

/* Lets the next event happen, and does not end its turn. */
static bool next(struct sim *sim)
{
    struct heap_node *first = heap_first(&sim->events);
    int64_t before = sim->now;
    bool up = sim->engine != NULL;

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
    if (up)
        sim->up_ms += sim->now - before;
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
    const char *salt = getenv("SIM_SALT");

    sim->random = seed + (salt != NULL ? strtoull(salt, NULL, 10) * UINT64_C(0xd1342543de82ef95) : 0);
    sim->faults = *faults;
    if (faults->run_ms == 0) { /* the caller leaves the delays to us */
        sim->faults.queue_ms = 60000;
        sim->faults.run_ms = 30000;
        sim->faults.forget_ms = 300000;
        sim->faults.disk_ms = 50;
        sim->faults.answer_ms = 500;
        sim->faults.slow = 25;
    }
    sim->state_dir = state_dir;
    sim->now = INT64_C(1700000000000);
    sim->wake = INT64_MAX;
    sim->files = json_object();
    uv_loop_init(&sim->loop);
    uv_idle_init(&sim->loop, &sim->alive);
    uv_idle_start(&sim->alive, on_idle);
    sim->ledger = json_object();
    for (int i = 0; i < SIM_ADAPTERS; i++)
        sim->clusters[i] = cluster_create(sim, i);
    return sim;
}

void sim_destroy(struct sim *sim)
{
    sim_crash(sim);
    store_close(sim->kept);
    sim->ending = true;
    while (sim->events.n > 0)
        sim_step(sim); /* events free their memory; without an engine they change nothing */
    for (int i = 0; i < SIM_ADAPTERS; i++)
        cluster_destroy(sim->clusters[i]);
    json_decref(sim->ledger);
    json_decref(sim->files);
    uv_close((uv_handle_t *)&sim->alive, NULL);
    uv_run(&sim->loop, UV_RUN_DEFAULT);
    uv_loop_close(&sim->loop);
    heap_fini(&sim->events);
    free(sim);
}
