/* The invariants of trainings: a training ends as its ranks ended, whatever the daemon lived through, and it and the
 * members that stream into it begin anew only when they may. */
#include "daemon/engine/engine.h"
#include "daemon/store/internal.h"
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SQL function: tells whether a generation's rank was out of time, by its own words or its exit record. */
static void out_of_time(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct sim *sim = sqlite3_user_data(context);
    char *dir = engine_generation_dir(sim_engine(sim), sqlite3_value_int64(values[0]), sqlite3_value_int64(values[1]));
    char path[300];
    const char *state, *outcome;

    snprintf(path, sizeof path, "%s/done-rank0.json", dir);
    state = json_string_value(json_object_get(json_object_get(sim_files(sim), path), "state"));
    snprintf(path, sizeof path, "%s/rank0/exit.json", dir);
    outcome = json_string_value(json_object_get(json_object_get(sim_files(sim), path), "outcome"));
    sqlite3_result_int(context, (state != NULL && strcmp(state, "unfinished") == 0) ||
                                    (outcome != NULL && strcmp(outcome, "timeout") == 0));
    free(dir);
}

static void said_early(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct sim *sim = sqlite3_user_data(context);
    char *dir = engine_generation_dir(sim_engine(sim), sqlite3_value_int64(values[0]), sqlite3_value_int64(values[1]));
    char path[300];

    snprintf(path, sizeof path, "%s/done-rank0.json", dir);
    sqlite3_result_int(context, json_is_true(json_object_get(json_object_get(sim_files(sim), path), "early")));
    free(dir);
}

static void left_further(sqlite3_context *context, int n, sqlite3_value **values)
{
    sqlite3_result_int(context, sim_left_further(sqlite3_user_data(context), sqlite3_value_int64(values[0]),
                                                 sqlite3_value_int(values[1])));
}

static void is_whole(sqlite3_context *context, int n, sqlite3_value **values)
{
    sqlite3_result_int(context, sim_is_whole(sqlite3_user_data(context), sqlite3_value_int64(values[0]),
                                             sqlite3_value_int64(values[1]), sqlite3_value_int64(values[2]),
                                             (const char *)sqlite3_value_text(values[3])));
}

static void has_samples(sqlite3_context *context, int n, sqlite3_value **values)
{
    sqlite3_result_int(context, sim_has_samples(sqlite3_user_data(context), sqlite3_value_int64(values[0]),
                                                sqlite3_value_int(values[1]), sqlite3_value_int64(values[2]),
                                                sqlite3_value_int64(values[3])));
}

static void restarts(sqlite3_context *context, int n, sqlite3_value **values)
{
    sqlite3_result_int64(context, sim_restarts(sqlite3_user_data(context), sqlite3_value_int64(values[0]),
                                               sqlite3_value_int(values[1])));
}

/* SQL function: tells whether the ranks of a generation ended since one of them was killed. */
static void was_killed(sqlite3_context *context, int n, sqlite3_value **values)
{
    sqlite3_result_int(context, sim_was_killed(sqlite3_user_data(context), sqlite3_value_int64(values[0]),
                                               sqlite3_value_int(values[1])));
}

/* SQL function: returns the outcome in the exit record of a generation's first rank; NULL if it left none. */
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

/* The times of rows are by more than one clock then. */
static void clock_was_set(sqlite3_context *context, int n, sqlite3_value **values)
{
    struct sim *sim = sqlite3_user_data(context);

    sqlite3_result_int(context, sim_wall(sim) != sim_now(sim));
}

/* A member whose last attempt ended after the checkpoint may go again, even if an earlier attempt was whole in that
 * checkpoint: it may have left steps to the last one. */
void watch_trainings_store(struct sim *sim)
{
    static const char triggers[] =
        "CREATE TEMP TRIGGER begun_anew AFTER INSERT ON main.job WHEN NEW.kind = 'training' AND NOT clock_was_set() AND "
        "NEW.created < (SELECT max(j.ended) FROM main.job j WHERE j.ensemble = NEW.ensemble AND j.kind = 'training' AND j.id <> NEW.id) + "
        "(SELECT iif((t.failures = 0 AND t.losses = 0) OR out_of_time(t.ensemble, t.generation - 1), 0, iif(t.resumed GLOB 'g' || "
        "(t.generation - 1) || '[-.]*', 1000, min(300000, 1000 << (iif(t.losses > 0, t.losses, t.failures) - 1)))) FROM "
        "main.training t WHERE t.ensemble = NEW.ensemble) BEGIN "
        "SELECT violate('a training begins anew before its time'); END;"
        "CREATE TEMP TRIGGER for_those_before AFTER INSERT ON main.job WHEN NEW.kind <> 'training' AND EXISTS (SELECT "
        "1 FROM main.training t WHERE t.ensemble = NEW.ensemble AND t.generation > 1 AND t.state <> 'running') BEGIN "
        "SELECT violate('members are to start, and their training has begun anew and cannot be reached'); END;"
        "CREATE TEMP TRIGGER while_sent_back AFTER INSERT ON main.job WHEN NEW.kind <> 'training' AND EXISTS (SELECT 1 "
        "FROM main.training t JOIN main.bulk_operation c ON c.ensemble = t.ensemble WHERE t.ensemble = NEW.ensemble AND "
        "t.generation > 1 AND c.kind = 'resubmit') BEGIN SELECT violate('members are to start, and others of them are "
        "still being sent back'); END;"
        "CREATE TEMP TRIGGER whole_goes_again AFTER UPDATE OF state ON main.member WHEN OLD.state = 'succeeded' AND "
        "NEW.state = 'pending' AND is_whole(NEW.ensemble, NEW.idx, OLD.attempts, (SELECT resumed FROM main.training WHERE ensemble "
        "= NEW.ensemble)) BEGIN SELECT violate('a member goes again that is whole in the checkpoint'); END;"
        "CREATE TEMP TRIGGER some_stay AFTER UPDATE OF state ON main.training WHEN NEW.generation > 1 AND NEW.state = "
        "'running' AND OLD.state <> 'running' AND NOT EXISTS (SELECT 1 FROM main.bulk_operation c WHERE c.ensemble = NEW.ensemble "
        "AND c.kind = 'resubmit') AND EXISTS (SELECT 1 FROM main.member m WHERE m.ensemble = NEW.ensemble AND m.state = "
        "'succeeded' AND NOT has_samples(NEW.ensemble, NEW.generation, m.idx, m.attempts)) BEGIN SELECT "
        "violate('a training has begun anew, and samples are missing of members that do not go again'); END;"
        "CREATE TEMP TRIGGER time_costs AFTER UPDATE OF generation ON main.training WHEN NEW.generation > "
        "OLD.generation AND NEW.failures > OLD.failures AND out_of_time(NEW.ensemble, OLD.generation) BEGIN SELECT "
        "violate('a training that was out of time lost a retry'); END;"
        "CREATE TEMP TRIGGER failure_is_free AFTER UPDATE OF generation ON main.training WHEN NEW.generation > "
        "OLD.generation AND NEW.failures = OLD.failures AND OLD.state IN ('submitted', 'running') AND NOT "
        "out_of_time(NEW.ensemble, OLD.generation) AND rank_outcome(NEW.ensemble, OLD.generation) = 'failed' AND NOT "
        "was_killed(NEW.ensemble, OLD.generation) BEGIN SELECT "
        "violate('a training that failed lost no retry'); END;"
        "CREATE TEMP TRIGGER killed_costs AFTER UPDATE OF generation ON main.training WHEN NEW.generation > "
        "OLD.generation AND NEW.failures > OLD.failures AND NEW.losses <= 3 AND (NEW.reason LIKE '%: rank _ lost: %' OR "
        "NEW.reason LIKE '%: rank _ cancelled: %' OR was_killed(NEW.ensemble, OLD.generation)) BEGIN SELECT "
        "violate('a training that was ended from outside lost a retry'); END;";
    sqlite3 *db = sim_store(sim)->db;
    char *why = NULL;

    sqlite3_create_function(db, "rank_outcome", 2, SQLITE_UTF8, sim, rank_outcome, NULL, NULL);
    sqlite3_create_function(db, "was_killed", 2, SQLITE_UTF8, sim, was_killed, NULL, NULL);
    sqlite3_create_function(db, "clock_was_set", 0, SQLITE_UTF8, sim, clock_was_set, NULL, NULL);
    sqlite3_create_function(db, "out_of_time", 2, SQLITE_UTF8, sim, out_of_time, NULL, NULL);
    sqlite3_create_function(db, "said_early", 2, SQLITE_UTF8, sim, said_early, NULL, NULL);
    sqlite3_create_function(db, "left_further", 2, SQLITE_UTF8, sim, left_further, NULL, NULL);
    sqlite3_create_function(db, "is_whole", 4, SQLITE_UTF8, sim, is_whole, NULL, NULL);
    sqlite3_create_function(db, "restarts", 2, SQLITE_UTF8, sim, restarts, NULL, NULL);
    sqlite3_create_function(db, "has_samples", 4, SQLITE_UTF8, sim, has_samples, NULL, NULL);
    if (sqlite3_exec(db, triggers, NULL, NULL, &why) != SQLITE_OK)
        sim_violate(sim, "the store cannot be watched: %s", why);
    sqlite3_free(why);
}

void watch_trainings_end(struct sim *sim)
{
    SIM_HOLDS(sim, "trainings that are done, and their rank did not succeed",
              "SELECT count(*) FROM training WHERE state = 'done' AND rank_outcome(ensemble, generation) IS NOT "
              "'succeeded'");
    SIM_HOLDS(sim, "trainings that are done, and their rank was out of time",
              "SELECT count(*) FROM training WHERE state = 'done' AND out_of_time(ensemble, generation)");
    SIM_HOLDS(sim, "trainings that were out of time, and began anew without having got further",
              "SELECT count(*) FROM event WHERE kind = 'training.restarted' AND out_of_time(ensemble, "
              "json_extract(detail, '$.generation') - 1) AND NOT left_further(ensemble, "
              "json_extract(detail, '$.generation') - 1) AND detail NOT LIKE '%another number of them was asked for%'");
    SIM_HOLDS(sim, "trainings that were out of time, had got further, and have failed",
              "SELECT count(*) FROM training WHERE state = 'failed' AND out_of_time(ensemble, generation) AND "
              "left_further(ensemble, generation)");
    SIM_HOLDS(sim, "trainings that ended early, and their rank did not say that it needs no more",
              "SELECT count(*) FROM training WHERE early AND (state <> 'done' OR NOT said_early(ensemble, generation))");
    SIM_HOLDS(sim, "ensembles whose training ended early, and they are not complete",
              "SELECT count(*) FROM training t JOIN ensemble e ON e.id = t.ensemble WHERE t.early AND e.state NOT IN "
              "('complete', 'cancelled') AND e.count <> (SELECT n FROM tally WHERE ensemble = e.id AND state = 'failed')");
    SIM_HOLDS(sim, "trainings that are over, and their ranks have begun again in their job more often than was counted, or less",
              "SELECT count(*) FROM training WHERE state IN ('done', 'failed') AND restarts <> restarts(ensemble, "
              "generation)");
    SIM_HOLDS(sim, "generations that are over, and of whose ranks it was not told that they have begun again",
              "SELECT count(*) FROM event e WHERE e.kind = 'training.restarted' AND restarts(e.ensemble, "
              "json_extract(e.detail, '$.generation') - 1) <> (SELECT count(*) FROM event v WHERE v.ensemble = e.ensemble "
              "AND v.kind = 'training.recovered' AND json_extract(v.detail, '$.generation') = json_extract(e.detail, "
              "'$.generation') - 1)");
    SIM_HOLDS(sim, "trainings that have failed more often than their spec allows",
              "SELECT count(*) FROM training t JOIN ensemble e ON e.id = t.ensemble WHERE t.failures > "
              "coalesce(json_extract(e.spec, '$.training.retries'), 0) + (t.state = 'failed')");
    SIM_HOLDS(sim, "trainings whose last job has not as many ranks as they",
              "SELECT count(*) FROM training t WHERE t.state = 'done' AND t.ranks <> (SELECT j.size FROM job j WHERE "
              "j.ensemble = t.ensemble AND j.kind = 'training' ORDER BY j.id DESC LIMIT 1)");
    SIM_HOLDS(sim, "unfinished members in complete ensembles that have a training",
              "SELECT count(*) FROM member m JOIN training t USING (ensemble) JOIN ensemble e ON e.id = m.ensemble WHERE "
              "e.state = 'complete' AND m.state = 'unfinished'");
    SIM_HOLDS(sim, "members that stream, were out of time and got further, and did not go on",
              "SELECT count(*) FROM attempt a JOIN training t USING (ensemble) JOIN ensemble e ON e.id = a.ensemble WHERE "
              "e.state = 'complete' AND NOT t.early AND a.outcome = 'timeout' AND got_further(a.ensemble || '.' || a.idx "
              "|| '.' || a.number) AND NOT EXISTS (SELECT 1 FROM attempt n WHERE n.ensemble = a.ensemble AND n.idx = "
              "a.idx AND n.number > a.number) AND NOT EXISTS (SELECT 1 FROM cancellation c WHERE c.ensemble = a.ensemble "
              "AND c.idx = a.idx)");
    if (!sim_faults_of(sim)->tidy)
        SIM_HOLDS(sim, "members that have succeeded, and their samples are missing in a training that is done",
                  "SELECT count(*) FROM member m JOIN training t USING (ensemble) WHERE t.state = 'done' AND m.state = "
                  "'succeeded' AND NOT has_samples(t.ensemble, t.generation, m.idx, m.attempts)");
}
