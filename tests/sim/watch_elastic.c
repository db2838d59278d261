/* The invariants of elastic ensembles: the policy never leaves the limits of the spec, never changes what a user has
 * set, makes no second change within a pause, and tells of each. What the ranks say of who waits for whom is made up
 * here, too: each takes as many samples a second as SIM_PACE in its environment says, and each member that runs makes
 * one. */
#include "tests/sim/cluster.h"

#include "common/xalloc.h"
#include "daemon/store/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t members_that_run(struct sim *sim, int64_t ensemble)
{
    char prefix[24];
    int64_t n = 0;
    const char *id;
    json_t *value;

    snprintf(prefix, sizeof prefix, "%lld.", (long long)ensemble);
    for (int i = 0; i < SIM_ADAPTERS; i++)
        json_object_foreach (sim_cluster(sim, i)->running, id, value)
            n += strncmp(id, prefix, strlen(prefix)) == 0 && id[strlen(prefix)] != 't';
    return n;
}

static double lack(double of, double against)
{
    return of >= against ? 0 : 1 - of / against;
}

bool elastic_tells(const json_t *task)
{
    return json_object_get(json_object_get(task, "env"), "SIM_PACE") != NULL;
}

void elastic_tell(struct cluster *c, const json_t *rank)
{
    const json_t *env = json_object_get(rank, "env");
    const char *pace = json_string_value(json_object_get(env, "SIM_PACE"));
    const char *dir = json_string_value(json_object_get(env, "STRETTO_TRAINING_DIR"));
    const json_t *config = cluster_get(c, dir, "training.json");
    int64_t ranks = json_integer_value(json_object_get(config, "ranks"));
    const json_t *before = cluster_get(c, dir, "status-rank0.json");
    double now = (double)sim_now(c->sim) / 1000, took, samples, room, made, taken;

    if (pace == NULL)
        return;
    took = before != NULL ? now - json_real_value(json_object_get(before, "time")) : 0;
    samples = before != NULL ? json_real_value(json_object_get(before, "sample_wait_seconds")) : 0;
    room = before != NULL ? json_real_value(json_object_get(before, "room_wait_seconds")) : 0;
    made = (double)members_that_run(c->sim, json_integer_value(json_object_get(config, "ensemble")));
    taken = atof(pace) * (double)ranks;
    for (int64_t i = 0; i < ranks; i++) {
        char *name = xasprintf("status-rank%lld.json", (long long)i);

        cluster_put(c, dir, name,
                    json_pack("{s:i, s:f, s:s, s:f, s:f}", "version", 1, "time", now, "state", "receiving",
                              "sample_wait_seconds", samples + took * lack(made, taken), "room_wait_seconds",
                              room + took * lack(taken, made)));
        free(name);
    }
}

#define DETAIL(key) "json_extract(NEW.detail, '$." key "')"
#define LIMIT(knob, n)                                                                                                 \
    "(SELECT json_extract(spec, '$.elastic." knob "[" #n "]') FROM main.ensemble WHERE id = NEW.ensemble)"
#define EVERY "(SELECT 1000 * CAST(json_extract(spec, '$.elastic.every') AS INTEGER) FROM main.ensemble WHERE id = NEW.ensemble)"

void watch_elastic_store(struct sim *sim)
{
    static const char triggers[] =
        "CREATE TEMP TRIGGER elastic_limits AFTER INSERT ON main.event WHEN NEW.kind = 'ensemble.elastic' AND "
        "coalesce(" DETAIL("to") " NOT BETWEEN CASE " DETAIL("knob") " WHEN 'width' THEN " LIMIT("width", 0) " ELSE "
        LIMIT("ranks", 0) " END AND CASE " DETAIL("knob") " WHEN 'width' THEN " LIMIT("width", 1) " ELSE "
        LIMIT("ranks", 1) " END, 1) BEGIN SELECT violate('the limits of \"elastic\" were left'); END;"
        "CREATE TEMP TRIGGER elastic_pause AFTER INSERT ON main.event WHEN NEW.kind = 'ensemble.elastic' AND ("
        "NEW.time < (SELECT until FROM main.elastic WHERE ensemble = NEW.ensemble) OR NEW.time < (SELECT max(v.time) FROM "
        "main.event v WHERE v.ensemble = NEW.ensemble AND v.kind = 'ensemble.elastic' AND v.id < NEW.id) + 4 * " EVERY ") "
        "BEGIN SELECT violate('a second elastic change was made within the pause'); END;"
        "CREATE TEMP TRIGGER elastic_hands AFTER INSERT ON main.event WHEN NEW.kind = 'ensemble.elastic' AND EXISTS "
        "(SELECT 1 FROM main.elastic x WHERE x.ensemble = NEW.ensemble AND CASE " DETAIL("knob") " WHEN 'width' THEN "
        "x.width_by_hand ELSE x.ranks_by_hand END) BEGIN SELECT violate('the policy changed what a user had set'); END;"
        "CREATE TEMP TRIGGER elastic_width AFTER UPDATE OF width ON main.ensemble WHEN NEW.width <> OLD.width AND "
        "json_extract(NEW.spec, '$.elastic.width') IS NOT NULL AND NOT coalesce((SELECT width_by_hand FROM main.elastic "
        "WHERE ensemble = NEW.id), 0) AND NEW.width NOT BETWEEN json_extract(NEW.spec, '$.elastic.width[0]') AND "
        "json_extract(NEW.spec, '$.elastic.width[1]') BEGIN SELECT violate('a width is beyond \"elastic\"'); END;";
    char *why = NULL;

    if (sqlite3_exec(sim_store(sim)->db, triggers, NULL, NULL, &why) != SQLITE_OK)
        sim_violate(sim, "the store cannot be watched: %s", why);
    sqlite3_free(why);
}

#define LAST(knob)                                                                                                     \
    "(SELECT json_extract(v.detail, '$.to') FROM event v WHERE v.ensemble = e.id AND v.kind = 'ensemble.elastic' AND " \
    "json_extract(v.detail, '$.knob') = '" knob "' ORDER BY v.id DESC LIMIT 1)"

void watch_elastic_end(struct sim *sim)
{
    SIM_HOLDS(sim, "elastic ensembles whose width was changed, and no event tells it",
              "SELECT count(*) FROM ensemble e LEFT JOIN elastic x ON x.ensemble = e.id WHERE json_extract(e.spec, "
              "'$.elastic') IS NOT NULL AND NOT coalesce(x.width_by_hand, 0) AND e.width <> coalesce(" LAST("width") ", "
              "json_extract(e.spec, '$.width'))");
    SIM_HOLDS(sim, "elastic ensembles whose ranks were changed, and no event tells it",
              "SELECT count(*) FROM ensemble e JOIN training t ON t.ensemble = e.id LEFT JOIN elastic x ON x.ensemble = e.id "
              "WHERE json_extract(e.spec, '$.elastic') IS NOT NULL AND NOT coalesce(x.ranks_by_hand, 0) AND "
              "iif(t.wanted > 0, t.wanted, t.ranks) <> coalesce(" LAST("ranks") ", json_extract(e.spec, "
              "'$.training.ranks'), json_extract(e.spec, '$.elastic.ranks[0]'), 1)");
    SIM_HOLDS(sim, "changes of \"elastic\" without the event of the change itself",
              "SELECT count(*) FROM event v WHERE v.kind = 'ensemble.elastic' AND NOT EXISTS (SELECT 1 FROM event w WHERE "
              "w.ensemble = v.ensemble AND w.time = v.time AND w.id < v.id AND w.kind IN ('ensemble.resized', "
              "'training.resized') AND json_extract(w.detail, '$.' || json_extract(v.detail, '$.knob')) = "
              "json_extract(v.detail, '$.to'))");
}

bool watch_elastic_owns_width(struct sim *sim, int64_t ensemble)
{
    struct error err;
    sqlite3_stmt *stmt = store_query(sim_store(sim), &err,
                                     "SELECT 1 FROM ensemble e LEFT JOIN elastic x ON x.ensemble = e.id WHERE e.id = ?1 "
                                     "AND json_extract(e.spec, '$.elastic.width') IS NOT NULL AND NOT "
                                     "coalesce(x.width_by_hand, 0)", "i", ensemble);
    bool owns = stmt != NULL && store_row(sim_store(sim), stmt, &err) == 1;

    if (owns)
        store_done(stmt);
    return owns;
}
