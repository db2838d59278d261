/* The invariants of allocations: which ones are requested, which jobs they are given, and that none is left behind. */
#include "daemon/engine/memory/core.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/job.h"
#include "tests/sim/pilots.h"

#include "daemon/engine/memory/pilot.h"
#include "daemon/store/internal.h"

#include <stdio.h>
#include <string.h>

/* requests for allocations end after so many in a row in which nothing ran; twice the daemon's own limit */
#define VAIN_MAX 20
/* counted while the daemon is up: cancellations have reached their node, and allocations are requested, by then */
#define LATE_MS 600000
#define GRACE_MS 120000 /* until the daemon knows what an allocation said of itself */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns how many jobs of the ensemble's members run at once on such a node. */
static int64_t fitting(const struct spec *spec, const struct node *node)
{
    const struct adapter_resources *r = &spec->members.resources;
    int64_t n = node->cpus / (r->copies * r->tasks * r->cpus_per_task);

    if (r->gpus > 0)
        n = least(n, node->gpus / (r->copies * r->gpus));
    return r->memory > 0 ? least(n, node->memory / (r->copies * r->memory)) : n;
}

/* Called when a job was made for a node. Verifies that the node has room and time for it. */
static void bound(sqlite3_context *context, int n_values, sqlite3_value **values)
{
    struct sim *sim = sqlite3_user_data(context);
    const struct live_ensemble *ens = engine_find_ensemble(sim_engine(sim), sqlite3_value_int64(values[0]));
    const struct flight *flight = pilots_of(sim, (const char *)sqlite3_value_text(values[1]));
    int64_t node = sqlite3_value_int64(values[2]), jobs = sqlite3_value_int64(values[3]), fits, run_ms;

    if (ens == NULL || flight == NULL || node < 0 || node >= flight->n_nodes || !flight->nodes[node].up) {
        sim_violate(sim, "a job was made for node %lld of %s, which is not there", (long long)node,
                    sqlite3_value_text(values[1]));
        return;
    }
    fits = fitting(ens->spec, &flight->nodes[node]);
    run_ms = ens->allocation->run_ms;
    if (run_ms > 0 && run_ms <= 10000)
        fits += 1 + fits * 2000 / run_ms;
    if (jobs > fits)
        sim_violate(sim, "node %lld of %s is given a job beside %lld", (long long)node, flight->job->name,
                    (long long)jobs - 1);
    if (flight->deadline_ms != INT64_MAX && sim_now(sim) + spec_least_time_ms(ens->spec) > flight->deadline_ms)
        sim_violate(sim, "%s is given a job that does not fit the time that it has left", flight->job->name);
}

/* Returns the number of allocations that may still be given jobs, or that are waited for. */
static int64_t count_live(struct sim *sim, const struct live_ensemble *ens)
{
    int64_t n = 0;

    for (const struct live_job *job = ens->jobs; job != NULL; job = job->ens_next) {
        const struct flight *flight = job->row.kind == JOB_PILOT ? pilots_of(sim, job->row.name) : NULL;

        if (job->row.kind == JOB_PILOT && !job->row.cancel && !job->ending.over && (flight == NULL || !flight->over))
            n++;
    }
    return n;
}

/* Returns the number of the last allocations in a row that have ended and in which nothing ran. Only those are counted
 * that were requested since the daemon last read everything anew. */
static int64_t count_vain(struct sim *sim, int64_t ensemble)
{
    struct error err;
    sqlite3_stmt *stmt = store_query(sim_store(sim), &err,
                                     "SELECT name FROM job WHERE kind = 'pilot' AND cancel = 0 AND ensemble = ?1 AND "
                                     "created > ?2 ORDER BY id DESC", "ii", ensemble, sim_loaded_ms(sim));
    bool begun = false;
    int64_t n = 0;

    while (stmt != NULL && store_row(sim_store(sim), stmt, &err) == 1) {
        const struct flight *flight = pilots_of(sim, (const char *)sqlite3_column_text(stmt, 0));

        begun = begun || (flight != NULL && flight->begun);
        n += !begun && flight != NULL && flight->over;
    }
    return n;
}

/* Called when an allocation was requested. Verifies that it may be. */
static void asked(sqlite3_context *context, int n_values, sqlite3_value **values)
{
    struct sim *sim = sqlite3_user_data(context);
    int64_t id = sqlite3_value_int64(values[0]);
    const struct live_ensemble *ens = engine_find_ensemble(sim_engine(sim), id);

    if (ens == NULL || ens->spec->has_allocation == false)
        sim_violate(sim, "an allocation was asked for, and ensemble %lld has none", (long long)id);
    else if (count_live(sim, ens) >= 2 * ens->spec->allocation.count)
        sim_violate(sim, "ensemble %lld asks for one more allocation, and has %lld", (long long)id,
                    (long long)count_live(sim, ens));
    else if (count_vain(sim, id) > VAIN_MAX)
        sim_violate(sim, "ensemble %lld asks for one more allocation, and nothing ran in the last %lld", (long long)id,
                    (long long)count_vain(sim, id));
    else if (!watch_wants(sim, id))
        sim_violate(sim, "ensemble %lld asks for an allocation, and has nothing to run in it", (long long)id);
}

void watch_pilots_store(struct sim *sim)
{
    static const char triggers[] =
        "CREATE TEMP TRIGGER bound AFTER INSERT ON main.job WHEN NEW.kind = 'members' AND NEW.pilot IS NOT NULL BEGIN "
        "SELECT bound(NEW.ensemble, (SELECT name FROM main.job p WHERE p.id = NEW.pilot AND p.state <> 'ended' AND "
        "p.cancel = 0), NEW.node, (SELECT count(*) FROM main.job j WHERE j.pilot = NEW.pilot AND j.node = NEW.node AND "
        "j.state <> 'ended')); END;CREATE TEMP TRIGGER asked AFTER INSERT ON main.job WHEN NEW.kind = 'pilot' BEGIN "
        "SELECT asked(NEW.ensemble); END;";
    sqlite3 *db = sim_store(sim)->db;
    char *why = NULL;

    sqlite3_create_function(db, "bound", 4, SQLITE_UTF8, sim, bound, NULL, NULL);
    sqlite3_create_function(db, "asked", 1, SQLITE_UTF8, sim, asked, NULL, NULL);
    if (sqlite3_exec(db, triggers, NULL, NULL, &why) != SQLITE_OK)
        sim_violate(sim, "the store cannot be watched: %s", why);
    sqlite3_free(why);
}

/* Verifies that the node of each job that is to be cancelled was told so in time. */
static void check_cancels(struct sim *sim, struct node *node)
{
    int64_t up = sim_up_ms(sim);
    struct inner *inner;

    DL_FOREACH (node->jobs, inner) {
        const struct live_job *job = inner->state == INNER_RUNNING && !node->gone
                                         ? engine_find_job(sim_engine(sim),
                                                           engine_parse_job_name(inner->name))
                                         : NULL;

        if (job == NULL || !job->row.cancel || inner->told_to_end)
            inner->unwanted_ms = 0;
        else if (inner->unwanted_ms == 0)
            inner->unwanted_ms = up;
        else if (up - inner->unwanted_ms > LATE_MS)
            sim_violate(sim, "job %s was to be cancelled, and its node has not been told", inner->name);
    }
}

/* Returns how long the allocation that has begun last waited for its turn, though it may be over by now
 * (SIM_SEED=10060204); INT64_MAX: none has begun. */
static int64_t last_wait(struct sim *sim, const struct live_ensemble *ens)
{
    char sql[300];

    snprintf(sql, sizeof sql,
             "SELECT coalesce((SELECT started - submitted FROM job WHERE ensemble = %lld AND kind = 'pilot' AND started >= submitted "
             "ORDER BY started DESC LIMIT 1), %lld)", (long long)ens->row.id, (long long)INT64_MAX);
    return sim_number(sim, sql);
}

/* Returns whether the ensemble has, or has requested, an allocation in which its members can run. Another one must be
 * requested in good time, before the last one takes no more members: by as much as the last one waited. A daemon that
 * was started anew knows only those that are not over. */
static bool is_provided(struct sim *sim, const struct live_ensemble *ens)
{
    int64_t now = sim_now(sim), waited = INT64_MAX, deadline = 0;

    if (ens->allocation->not_before > now)
        return true;
    for (const struct live_job *job = ens->jobs; job != NULL; job = job->ens_next) {
        const struct flight *flight = job->row.kind == JOB_PILOT ? pilots_of(sim, job->row.name) : NULL;

        if (job->row.kind != JOB_PILOT || job->row.cancel)
            continue;
        if (flight == NULL || job->row.started_ms == 0 || flight->deadline_ms == INT64_MAX)
            return true;
        if (job->row.submitted_ms > 0)
            waited = least(waited, job->row.started_ms - job->row.submitted_ms);
        if (flight->deadline_ms > deadline)
            deadline = flight->deadline_ms;
    }
    if (deadline == 0)
        return false;
    waited = least(waited, last_wait(sim, ens));
    return now + (waited < INT64_MAX ? waited : 0) + spec_least_time_ms(ens->spec) - GRACE_MS < deadline;
}

void watch_pilots(struct sim *sim)
{
    struct live_ensemble *ens, *next;

    for (int i = 0; i < SIM_ADAPTERS; i++) {
        struct flight *flight;

        LL_FOREACH (sim_cluster(sim, i)->flights, flight)
            for (int n = 0; n < flight->n_nodes && !flight->over; n++)
                check_cancels(sim, &flight->nodes[n]);
    }
    if (sim_engine(sim)->resting || sim_engine(sim)->to_settle.ensembles != NULL)
        return;
    HASH_ITER (hh, sim_engine(sim)->ensembles, ens, next) {
        if (ens->allocation == NULL)
            continue;
        if (!watch_wants(sim, ens->row.id) || is_provided(sim, ens))
            sim_wanted_since(sim, ens->row.id, false);
        else if (sim_up_ms(sim) - sim_wanted_since(sim, ens->row.id, true) > GRACE_MS &&
                 sim_now(sim) - sim_loaded_ms(sim) > GRACE_MS) /* it takes a minute to believe that a job is lost, and begins anew */
            sim_violate(sim, "ensemble %lld has members that wait, and no allocation is asked for",
                        (long long)ens->row.id);
    }
    SIM_HOLDS(sim, "allocations left behind by ensembles that are over",
              "SELECT count(*) FROM job j JOIN ensemble e ON e.id = j.ensemble WHERE j.kind = 'pilot' AND j.state <> "
              "'ended' AND j.cancel = 0 AND e.state IN ('complete', 'cancelled', 'failed')");
}

void watch_pilots_end(struct sim *sim)
{
    for (int i = 0; i < SIM_ADAPTERS; i++) {
        struct flight *flight;

        LL_FOREACH (sim_cluster(sim, i)->flights, flight)
            if (!flight->over)
                sim_violate(sim, "allocation %s is left behind", flight->job->name);
    }
    SIM_HOLDS(sim, "allocations of which the events do not tell",
              "SELECT count(*) FROM job j WHERE j.kind = 'pilot' AND ((SELECT count(*) FROM event v WHERE v.kind = "
              "'allocation.submitted' AND json_extract(v.detail, '$.job') = j.name) <> 1 OR (SELECT count(*) FROM "
              "event v WHERE v.kind = 'allocation.ended' AND json_extract(v.detail, '$.job') = j.name) <> 1)");
    SIM_HOLDS(sim, "jobs that ran where their ensemble had no allocation",
              "SELECT count(*) FROM job j LEFT JOIN job p ON p.id = j.pilot WHERE j.pilot IS NOT NULL AND (p.id IS "
              "NULL OR p.kind <> 'pilot' OR p.ensemble <> j.ensemble)");
    SIM_HOLDS(sim, "members that never began in an allocation, and paid for it",
              "SELECT count(*) FROM member m WHERE m.state <> 'cancelled' AND m.losses > (SELECT count(*) FROM attempt "
              "a WHERE a.ensemble = m.ensemble AND a.idx = m.idx AND a.started IS NOT NULL) AND EXISTS (SELECT 1 FROM "
              "job j WHERE j.ensemble = m.ensemble AND j.kind = 'pilot')");
}
