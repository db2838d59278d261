/* The invariants of trainings: a training ends as its ranks ended, whatever the daemon lived through, and it and the
 * members that stream into it begin anew only when they may. */
#include "tests/sim/sim.h"

#include "daemon/engine/internal.h"
#include "daemon/store/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* SQL function: returns the outcome in the exit record of a generation's only rank; NULL where it left none. */
static void rank_outcome(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct sim *sim = sqlite3_user_data(context);
    char *dir = engine_rank_dir(sim_engine(sim), sqlite3_value_int64(values[0]), sqlite3_value_int64(values[1]), 0);
    char path[300];

    snprintf(path, sizeof path, "%s/exit.json", dir);
    sqlite3_result_text(context, json_string_value(json_object_get(json_object_get(sim_files(sim), path), "outcome")),
                        -1, SQLITE_TRANSIENT);
    free(dir);
}

void watch_trainings_store(struct sim *sim)
{
    static const char triggers[] =
        "CREATE TEMP TRIGGER begun_anew AFTER INSERT ON main.job WHEN NEW.kind = 'training' AND NEW.created < (SELECT "
        "max(j.ended) FROM main.job j WHERE j.ensemble = NEW.ensemble AND j.kind = 'training' AND j.id <> NEW.id) + "
        "(SELECT min(300000, 1000 << (t.generation - 2)) FROM main.training t WHERE t.ensemble = NEW.ensemble) BEGIN "
        "SELECT violate('a training begins anew before its time'); END;"
        "CREATE TEMP TRIGGER for_those_before AFTER INSERT ON main.job WHEN NEW.kind <> 'training' AND EXISTS (SELECT "
        "1 FROM main.training t WHERE t.ensemble = NEW.ensemble AND t.generation > 1 AND t.state <> 'running') BEGIN "
        "SELECT violate('members are to start, and their training has begun anew and cannot be reached'); END;"
        "CREATE TEMP TRIGGER while_sent_back AFTER INSERT ON main.job WHEN NEW.kind <> 'training' AND EXISTS (SELECT 1 "
        "FROM main.training t JOIN main.chore c ON c.ensemble = t.ensemble WHERE t.ensemble = NEW.ensemble AND "
        "t.generation > 1 AND c.kind = 'resubmit') BEGIN SELECT violate('members are to start, and others of them are "
        "still being sent back'); END;";
    sqlite3 *db = sim_store(sim)->db;
    char *why = NULL;

    sqlite3_create_function(db, "rank_outcome", 2, SQLITE_UTF8, sim, rank_outcome, NULL, NULL);
    if (sqlite3_exec(db, triggers, NULL, NULL, &why) != SQLITE_OK)
        sim_violate(sim, "the store cannot be watched: %s", why);
    sqlite3_free(why);
}

void watch_trainings_end(struct sim *sim)
{
    SIM_HOLDS(sim, "trainings that are done, and their rank did not succeed",
              "SELECT count(*) FROM training WHERE state = 'done' AND rank_outcome(ensemble, generation) IS NOT "
              "'succeeded'");
    SIM_HOLDS(sim, "trainings that were out of time, and began anew",
              "SELECT count(*) FROM event WHERE kind = 'training.restarted' AND rank_outcome(ensemble, "
              "json_extract(detail, '$.generation') - 1) = 'timeout'");
}
