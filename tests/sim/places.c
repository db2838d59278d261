/* The places of an adapter. Verifies that only ensembles which may have a place are given one, and each place to the
 * right ensemble. */
#include "daemon/engine/memory/adapter_state.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/training.h"
#include "tests/sim/sim.h"

#include "daemon/engine/memory/pilot.h"
#include "daemon/engine/memory/pilot_size.h"
#include "daemon/store/internal.h"

#include <stdio.h>
#include <string.h>

/* An ensemble as it is in the store, with its jobs in flight and those that it could start. */
struct claimant {
    int64_t id;
    int adapter, training_adapter;
    double share;
    int64_t job_cpus, cpus, training_cpus;
    bool trains, waits_to_train, wants;
    bool inside; /* its members run in allocations, which have places of their own */
};

#define CLAIMANTS_MAX 64

/* Finds the ensembles, with their jobs but for the job ?1, and counts as due the members that were due before ?2.
 * Members that become due in this very millisecond are left out, since the engine may not have read the clock for them
 * yet. */
#define CLAIMANTS                                                                                                      \
    "SELECT e.id, e.adapter, coalesce(json_extract(e.spec, '$.share'), 1), "                                           \
    "coalesce(json_extract(e.spec, '$.members.resources.tasks'), 1) AS tasks, "                                        \
    "coalesce(json_extract(e.spec, '$.training.resources.tasks'), 1) * coalesce((SELECT max(size) FROM job j WHERE "   \
    "j.ensemble = e.id AND j.kind = 'training' AND j.state <> 'ended'), t.ranks, 1), "                                 \
    "coalesce(t.state = 'pending' AND e.state = 'running' AND e.after IS NULL "                                                            \
    "AND (t.generation = 1 OR t.ended + iif(out_of_time(t.ensemble, t.generation - 1), 0, "                            \
    "iif(t.resumed GLOB 'g' || (t.generation - 1) || '[-.]*', 1000, min(300000, 1000 << (iif(t.losses > 0, t.losses, t.failures) - 1)))) <= ?2), "  \
    "0), "                                                                                                             \
    "(SELECT coalesce(sum(size), 0) FROM job j WHERE j.ensemble = e.id AND j.kind = 'members' "                        \
    "AND j.pilot IS NULL AND j.state <> 'ended' AND j.id <> ?1), "                                                     \
    "EXISTS (SELECT 1 FROM job j WHERE j.ensemble = e.id AND j.kind = 'training' AND j.state <> 'ended'), "            \
    "t.id IS NOT NULL, "                                                                                               \
    "e.state = 'running' AND e.after IS NULL AND coalesce(t.state = 'running' OR (t.state IN ('pending', 'submitted') "                    \
    "AND t.generation = 1 AND json_extract(e.spec, '$.start') IS 'members-first'), 1) "                                \
    "AND (coalesce(t.generation, 1) = 1 OR NOT EXISTS (SELECT 1 FROM bulk_operation c WHERE c.ensemble = e.id)) "               \
    "AND (SELECT count(*) FROM attempt a WHERE a.ensemble = e.id AND a.outcome IS NULL) < e.width "                    \
    "AND ((e.root IS NULL "                                                                                            \
    "AND max(e.next_index, coalesce((SELECT max(idx) + 1 FROM member m WHERE m.ensemble = e.id), 0)) < e.count) "      \
    "OR EXISTS (SELECT 1 FROM member m WHERE m.ensemble = e.id AND m.state = 'pending' AND m.not_before < ?2)), "      \
    "coalesce(json_extract(e.spec, '$.pack'), 1), coalesce(t.adapter, ''), "                                           \
    "(SELECT count(*) FROM job j WHERE j.ensemble = e.id AND j.kind = 'pilot' AND j.state <> 'ended' AND cpus = 0), "  \
    "(SELECT coalesce(sum(cpus), 0) FROM job j WHERE j.ensemble = e.id AND j.kind = 'pilot' AND j.state <> 'ended'), " \
    "coalesce(t.state = 'pending' AND t.ended > ?2, 0) "                                                               \
    "FROM ensemble e LEFT JOIN training t ON t.ensemble = e.id WHERE e.state IN ('running', 'paused') "                \
    "OR EXISTS (SELECT 1 FROM job j WHERE j.ensemble = e.id AND j.state <> 'ended') ORDER BY e.id"

/* Sets the CPUs of an ensemble whose members run in allocations: those of its allocations. `pilots` of these
 * have what the spec says; one node of each of the others has `cpus`, all together. */
static void inside(struct sim *sim, struct claimant *c, int64_t pilots, int64_t cpus)
{
    const struct live_ensemble *ens = engine_find_ensemble(sim_engine(sim), c->id);
    struct adapter_resources r;

    if (ens == NULL || ens->allocation == NULL)
        return;
    r = pilot_resources(ens->adapter, ens->spec);
    c->inside = true;
    c->job_cpus = (int64_t)r.copies * r.tasks * r.cpus_per_task;
    c->cpus = pilots * c->job_cpus + cpus * r.copies * r.tasks;
}

/* Returns whether the engine knows that the ensemble's training needs no more samples. */
static bool has_enough(struct sim *sim, int64_t ensemble)
{
    const struct live_ensemble *ens = engine_find_ensemble(sim_engine(sim), ensemble);

    return ens != NULL && ens->training != NULL && ens->training->state.need == NEED_NONE;
}

/* Returns whether the daemon thinks that a training is due. The watcher cannot tell if the clock was set back since the
 * training's last generation ended; test_engine_clock tests how long it waits then. */
static bool is_due(struct sim *sim, int64_t ensemble)
{
    const struct live_ensemble *ens = engine_find_ensemble(sim_engine(sim), ensemble);

    return ens != NULL && ensemble_training_is_due(sim_engine(sim), ens);
}

/* Finds the ensembles, and counts as waiting their members that are due before `now`. Does not count the job
 * `new_job`. */
static size_t claimants(struct sim *sim, int64_t new_job, int64_t now, struct claimant out[CLAIMANTS_MAX])
{
    struct error err;
    sqlite3_stmt *stmt = store_query(sim_store(sim), &err, CLAIMANTS, "ii", new_job, now);
    size_t n = 0;

    while (stmt != NULL && n < CLAIMANTS_MAX && store_row(sim_store(sim), stmt, &err) == 1) {
        struct claimant *c = &out[n++];
        int64_t tasks = sqlite3_column_int64(stmt, 3);

        *c = (struct claimant){.id = sqlite3_column_int64(stmt, 0), .share = sqlite3_column_double(stmt, 2)};
        c->adapter = strcmp((const char *)sqlite3_column_text(stmt, 1), sim_adapters[0]) == 0 ? 0 : 1;
        c->training_adapter = strcmp((const char *)sqlite3_column_text(stmt, 11), sim_adapters[0]) == 0 ? 0 : 1;
        c->training_cpus = sqlite3_column_int64(stmt, 4);
        c->waits_to_train = sqlite3_column_int(stmt, 14) ? is_due(sim, c->id) : sqlite3_column_int(stmt, 5);
        c->cpus = tasks * sqlite3_column_int64(stmt, 6);
        c->trains = sqlite3_column_int(stmt, 7);
        c->wants = sqlite3_column_int(stmt, 9) && !has_enough(sim, c->id);
        c->job_cpus = tasks * sqlite3_column_int64(stmt, 10);
        if (!sqlite3_column_int(stmt, 8))
            c->training_cpus = 0;
        inside(sim, c, sqlite3_column_int64(stmt, 12), sqlite3_column_int64(stmt, 13));
    }
    return n;
}

/* Returns the CPUs of the trainings that run on the adapter, and of the one that starts next. */
static int64_t trainings(const struct claimant *c, size_t n, int adapter)
{
    int64_t cpus = 0;
    bool next = false;

    for (size_t i = 0; i < n; i++) {
        if (c[i].training_adapter != adapter || (!c[i].trains && (!c[i].waits_to_train || next)))
            continue;
        next = next || !c[i].trains;
        cpus += c[i].training_cpus;
    }
    return cpus;
}

/* Returns whether the ensemble may be given a place, if there is one. */
static bool may_have(struct sim *sim, const struct claimant *all, size_t n, const struct claimant *c)
{
    int slots = sim_slots(sim, c->adapter);
    int64_t trained = trainings(all, n, c->adapter);

    return c->wants && (slots == 0 || c->training_cpus > 0 || trained == 0 || trained + c->job_cpus <= slots);
}

static int64_t in_use(const struct claimant *c, size_t n, int adapter)
{
    int64_t cpus = 0;

    for (size_t i = 0; i < n; i++)
        cpus += (c[i].adapter == adapter ? c[i].cpus : 0) +
                (c[i].trains && c[i].training_adapter == adapter ? c[i].training_cpus : 0);
    return cpus;
}

/* Returns how many jobs of members are in flight on the adapter, not counting the job `but`. */
static int64_t member_jobs(struct sim *sim, int adapter, int64_t but)
{
    struct error err;
    sqlite3_stmt *stmt = store_query(sim_store(sim), &err,
                                     "SELECT count(*) FROM job WHERE state <> 'ended' AND kind <> 'training' AND pilot "
                                     "IS NULL AND adapter = ?1 AND id <> ?2", "ti", sim_adapters[adapter], but);
    int64_t n = -1;

    if (stmt != NULL && store_row(sim_store(sim), stmt, &err) == 1) {
        n = sqlite3_column_int64(stmt, 0);
        store_done(stmt);
    }
    return n;
}

/* Returns the time by the daemon's clock, which follows that of its host a little later. */
static int64_t daemon_now(struct sim *sim)
{
    return sim_engine(sim) != NULL ? engine_now(sim_engine(sim)) : sim_wall(sim);
}

/* Returns how many jobs of members may wait in the adapter's own queue: one, or, where jobs are short, as many as start
 * within 200 ms (schedule.c). */
static int64_t ahead(struct sim *sim, int adapter)
{
    const struct known_adapter *known;
    int64_t in_time;

    HASH_FIND_STR(sim_engine(sim)->adapters, sim_adapters[adapter], known);
    in_time = known->slots.run_ms > 0 ? sim_slots(sim, adapter) * INT64_C(200) / known->slots.run_ms : 0;

    return in_time > 1 ? in_time : 1;
}

/* Called when a job of members was made. Verifies that there was a place for it, and that it was this ensemble's
 * turn. */
static void given_places(sqlite3_context *context, int n_values, sqlite3_value **values)
{
    struct sim *sim = sqlite3_user_data(context);
    int64_t job = sqlite3_value_int64(values[0]), ensemble = sqlite3_value_int64(values[1]);
    struct claimant all[CLAIMANTS_MAX];
    const struct claimant *to = NULL;
    size_t n = claimants(sim, job, daemon_now(sim), all);
    int slots, max_jobs;

    for (size_t i = 0; i < n; i++)
        if (all[i].id == ensemble)
            to = &all[i];
    if (to == NULL)
        return;
    slots = sim_slots(sim, to->adapter);
    max_jobs = sim_max_jobs(sim, to->adapter);
    if (max_jobs > 0 && member_jobs(sim, to->adapter, job) >= max_jobs)
        sim_violate(sim, "a job was made above max_jobs");
    if (slots > 0 && in_use(all, n, to->adapter) >= slots + ahead(sim, to->adapter))
        sim_violate(sim, "a job was made for which there is no place, and which is not the next");
    if (slots == 0 && max_jobs == 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (&all[i] != to && all[i].adapter == to->adapter && !all[i].inside && may_have(sim, all, n, &all[i]) &&
            (double)all[i].cpus / all[i].share < (double)to->cpus / to->share - 1e-6)
            sim_violate(sim, "ensemble %lld was given a place with %lld CPUs, and ensemble %lld wants one with %lld",
                        (long long)to->id, (long long)to->cpus, (long long)all[i].id, (long long)all[i].cpus);
}

void watch_places_store(struct sim *sim)
{
    static const char trigger[] =
        "CREATE TEMP TRIGGER given_places AFTER INSERT ON main.job WHEN NEW.kind = 'members' AND NEW.pilot IS NULL BEGIN "
        "SELECT given_places(NEW.id, NEW.ensemble); END;";
    char *why = NULL;

    sqlite3_create_function(sim_store(sim)->db, "given_places", 2, SQLITE_UTF8, sim, given_places, NULL, NULL);
    if (sqlite3_exec(sim_store(sim)->db, trigger, NULL, NULL, &why) != SQLITE_OK)
        sim_violate(sim, "the store cannot be watched: %s", why);
    sqlite3_free(why);
}

bool watch_wants(struct sim *sim, int64_t ensemble)
{
    struct claimant all[CLAIMANTS_MAX];
    size_t n = claimants(sim, 0, daemon_now(sim) + 1, all);

    for (size_t i = 0; i < n; i++)
        if (all[i].id == ensemble)
            return may_have(sim, all, n, &all[i]);
    return false;
}

void watch_places(struct sim *sim)
{
    struct claimant all[CLAIMANTS_MAX];
    size_t n;

    /* members that were just loaded, or were too many for one turn, get places at the next tick */
    if (sim_engine(sim) == NULL || sim_engine(sim)->resting || sim_engine(sim)->again || sim_engine(sim)->to_settle.ensembles)
        return;
    n = claimants(sim, 0, daemon_now(sim), all);
    for (size_t i = 0; i < n; i++) {
        int slots = sim_slots(sim, all[i].adapter), max_jobs = sim_max_jobs(sim, all[i].adapter);

        if (!all[i].inside && may_have(sim, all, n, &all[i]) &&
            (slots == 0 || in_use(all, n, all[i].adapter) < slots) &&
            (max_jobs == 0 || member_jobs(sim, all[i].adapter, 0) < max_jobs))
            sim_violate(sim,
                        "ensemble %lld could have a place, and none of them is taken: %lld CPUs of %d in use, %lld of "
                        "its own, a job has %lld, trainings %lld", (long long)all[i].id,
                        (long long)in_use(all, n, all[i].adapter), slots, (long long)all[i].cpus,
                        (long long)all[i].job_cpus, (long long)trainings(all, n, all[i].adapter));
    }
}
