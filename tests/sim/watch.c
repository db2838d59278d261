/* The invariants: conditions that must hold in the store whenever something is written, after every turn, and at the
 * end. */
#include "common/xalloc.h"
#include "daemon/store/internal.h"
#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t sim_number(struct sim *sim, const char *sql)
{
    struct error err;
    sqlite3_stmt *stmt = store_query(sim_store(sim), &err, sql, "");
    int64_t n;

    if (stmt == NULL || store_row(sim_store(sim), stmt, &err) != 1) {
        sim_violate(sim, "%s: %s", sql, err.text);
        return -1;
    }
    n = sqlite3_column_int64(stmt, 0);
    store_done(stmt);
    return n;
}

int sim_writes(struct sim *sim)
{
    return sqlite3_total_changes(sim_store(sim)->db);
}

bool sim_is_over(struct sim *sim)
{
    return sim_engine(sim) != NULL && sim_live_jobs(sim) == 0 &&
           sim_number(sim,
                      "SELECT (SELECT count(*) FROM ensemble WHERE state IN ('running', 'paused')) + (SELECT count(*) "
                      "FROM "
                           "job WHERE state <> 'ended') + (SELECT count(*) FROM bulk_operation) + (SELECT count(*) FROM "
                           "training WHERE state IN ('submitted', 'running'))") == 0;
}

static void violate(sqlite3_context *context, int n, sqlite3_value **values)
{
    sim_violate(sqlite3_user_data(context), "%s", (const char *)sqlite3_value_text(values[0]));
}

static void told_ended(sqlite3_context *context, int n, sqlite3_value **values)
{
    sqlite3_result_int(context,
                       sim_told_ended(sqlite3_user_data(context), (const char *)sqlite3_value_text(values[0])));
}

static void got_further(sqlite3_context *context, int n, sqlite3_value **values)
{
    sqlite3_result_int(context,
                       sim_got_further(sqlite3_user_data(context), (const char *)sqlite3_value_text(values[0])));
}

/* SQL function: returns the number of a member's newest checkpoint that is on the disk and counts. Its arguments are
 * home, index, ensemble (0: any) and the first attempt of it that counts. */
static void newest_number(sqlite3_context *context, int n, sqlite3_value **values)
{
    int64_t home = sqlite3_value_int64(values[0]), index = sqlite3_value_int64(values[1]), number = 0;
    int64_t whose = sqlite3_value_int64(values[2]), since = sqlite3_value_int64(values[3]);
    char *dir = xasprintf("/run/e%lld/members/%lld/%lld/checkpoint", (long long)home, (long long)(index / 1000),
                          (long long)index);
    json_t *all = json_object_get(sim_files(sqlite3_user_data(context)), dir), *ckpt;
    size_t i;

    json_array_foreach (all, i, ckpt)
        if (number == 0 && (whose == 0 || json_integer_value(json_object_get(ckpt, "ensemble")) > whose ||
                            (json_integer_value(json_object_get(ckpt, "ensemble")) == whose &&
                             json_integer_value(json_object_get(ckpt, "attempt")) >= since)))
            number = json_integer_value(json_object_get(ckpt, "number"));
    sqlite3_result_int64(context, number);
    free(dir);
}

void watch_store(struct sim *sim)
{
    static const char triggers[] =
        "CREATE TEMP TRIGGER dispatched AFTER INSERT ON main.attempt WHEN (SELECT count(*) FROM main.attempt a WHERE "
        "a.ensemble = NEW.ensemble AND a.outcome IS NULL) > (SELECT width FROM main.ensemble WHERE id = NEW.ensemble) "
        "BEGIN SELECT violate('an attempt was made above the width'); END;"
        "CREATE TEMP TRIGGER dispatched_paused AFTER INSERT ON main.job WHEN (SELECT state FROM main.ensemble WHERE id "
        "= NEW.ensemble) <> 'running' BEGIN SELECT violate('a job was made for an ensemble that is not running'); END;"
        "CREATE TEMP TRIGGER dispatched_waiting AFTER INSERT ON main.job WHEN (SELECT after FROM main.ensemble WHERE id = "
        "NEW.ensemble) IS NOT NULL BEGIN SELECT violate('a job was made for an ensemble that waits for another'); END;"
        "CREATE TEMP TRIGGER begun_early AFTER UPDATE OF after ON main.ensemble WHEN OLD.after IS NOT NULL AND NEW.after IS NULL "
        "AND (SELECT state FROM main.ensemble p WHERE coalesce(p.root, p.id) = (SELECT coalesce(root, id) FROM main.ensemble "
        "WHERE id = OLD.after) ORDER BY id DESC LIMIT 1) <> 'complete' "
        "BEGIN SELECT violate('an ensemble began before the one that it waits for was complete'); END;"
        "CREATE TEMP TRIGGER out_of_order AFTER INSERT ON main.attempt WHEN (SELECT intake FROM main.ensemble WHERE id = "
        "NEW.ensemble) IS NOT NULL AND EXISTS (SELECT 1 FROM main.member m, main.member n WHERE n.ensemble = NEW.ensemble "
        "AND n.idx = NEW.idx AND m.ensemble = NEW.ensemble AND m.state = 'pending' AND (m.not_before, -m.rung, "
        "-m.priority, m.idx) < (n.not_before, -n.rung, -n.priority, n.idx)) BEGIN SELECT violate('a member was started before one of a higher priority'); END;"
        "CREATE TEMP TRIGGER promoted_late AFTER INSERT ON main.attempt WHEN EXISTS (SELECT 1 FROM main.member m CROSS JOIN main.arrival a "
        "WHERE m.ensemble = NEW.ensemble AND m.state = 'pending' AND a.ensemble = m.ensemble AND a.idx = m.idx AND a.rung >= "
        "NEW.rung AND a.promoted > 0 AND NOT EXISTS (SELECT 1 FROM main.attempt t WHERE t.ensemble = m.ensemble AND t.idx = m.idx "
        "AND t.rung > a.rung)) AND (SELECT json_extract(spec, '$.early_stopping.rule') FROM main.ensemble WHERE id = NEW.ensemble) = "
        "'asha' AND NOT EXISTS (SELECT 1 FROM main.event v WHERE v.ensemble = NEW.ensemble AND v.kind LIKE "
        "'%.resubmitted') BEGIN SELECT violate('a member was started before one that is promoted to a higher rung'); END;"
        "CREATE TEMP TRIGGER changed_twice AFTER UPDATE OF outcome ON main.attempt WHEN OLD.outcome IS NOT NULL BEGIN "
        "SELECT violate('the outcome of an attempt was changed'); END;";
    sqlite3 *db = sim_store(sim)->db;
    char *why = NULL;

    sqlite3_create_function(db, "violate", 1, SQLITE_UTF8, sim, violate, NULL, NULL);
    sqlite3_create_function(db, "got_further", 1, SQLITE_UTF8, sim, got_further, NULL, NULL);
    sqlite3_create_function(db, "newest_number", 4, SQLITE_UTF8, sim, newest_number, NULL, NULL);
    sqlite3_create_function(db, "told_ended", 1, SQLITE_UTF8, sim, told_ended, NULL, NULL);
    if (sqlite3_exec(db, triggers, NULL, NULL, &why) != SQLITE_OK)
        sim_violate(sim, "the store cannot be watched: %s", why);
    sqlite3_free(why);
    watch_families_store(sim);
    watch_places_store(sim);
    watch_pilots_store(sim);
    watch_trainings_store(sim);
    watch_elastic_store(sim);
}

/* Verifies the conditions that hold after every turn. Triggers watch each write for members that are dispatched above
 * the width or while paused, because after a resize more may be in flight for a while. */
void watch_always(struct sim *sim)
{
    SIM_HOLDS(sim, "tallies that do not add up to the count",
          "SELECT count(*) FROM ensemble e WHERE (SELECT sum(n) FROM tally t WHERE t.ensemble = e.id) <> e.count");
    SIM_HOLDS(sim, "members under way without an open attempt, or the other way round",
          "SELECT count(*) FROM member m WHERE (m.state IN ('submitted', 'running')) <> EXISTS (SELECT 1 FROM attempt "
          "a WHERE a.ensemble = m.ensemble AND a.idx = m.idx AND a.outcome IS NULL)");
    SIM_HOLDS(sim, "open attempts of ended jobs",
          "SELECT count(*) FROM attempt a JOIN job j ON j.id = a.job WHERE a.outcome IS NULL AND j.state = 'ended'");
    SIM_HOLDS(sim, "jobs of another adapter than that of the members, or of the training",
          "SELECT count(*) FROM job j JOIN ensemble e ON e.id = j.ensemble LEFT JOIN training t ON t.ensemble = e.id "
          "WHERE j.adapter <> CASE j.kind WHEN 'training' THEN t.adapter ELSE e.adapter END");
    SIM_HOLDS(sim, "jobs of ensembles that are complete without them",
          "SELECT count(*) FROM ensemble e WHERE e.state = 'complete' AND EXISTS (SELECT 1 FROM attempt a WHERE "
          "a.ensemble = e.id AND a.outcome IS NULL)");
    watch_families(sim);
    watch_pilots(sim);
    watch_late(sim);
}

/* Compares the outcome of each attempt with what the cluster knows of it. */
static void watch_history(struct sim *sim)
{
    struct error err;
    sqlite3_stmt *stmt;
    json_t *told = json_object(), *value;
    const char *key;

    stmt = store_query(sim_store(sim), &err, "SELECT ensemble || '.' || idx || '.' || number, outcome FROM attempt",
                       "");
    while (stmt != NULL && store_row(sim_store(sim), stmt, &err) == 1)
        json_object_set_new(told, (const char *)sqlite3_column_text(stmt, 0),
                            json_string((const char *)sqlite3_column_text(stmt, 1)));
    json_object_foreach (sim_ledger(sim), key, value) {
        const char *is = json_string_value(value), *says = json_string_value(json_object_get(told, key));
        bool killed = strcmp(is, "killed") == 0;

        if (says == NULL)
            sim_violate(sim, "attempt %s ran, and is not in the history", key);
        else if (strchr(is, ' ') != NULL ? strstr(is, says) == NULL && strcmp(says, "cancelled") != 0
                 : killed ? strcmp(says, "lost") != 0 && strcmp(says, "cancelled") != 0 : strcmp(says, is) != 0)
            sim_violate(sim, "attempt %s is %s, and the history says %s", key, is, says);
    }
    json_object_foreach (told, key, value)
        if (json_object_get(sim_ledger(sim), key) == NULL &&
            (strcmp(json_string_value(value), "succeeded") == 0 || strcmp(json_string_value(value), "timeout") == 0 ||
             strcmp(json_string_value(value), "reached") == 0))
            sim_violate(sim, "attempt %s never ran, and the history says %s", key, json_string_value(value));
    json_decref(told);
}

/* Attempt `a`, the last of member `m`, had succeeded when its training began anew, and was not sent back before its
 * ensemble was cancelled or failed. */
#define BEFORE_A_CANCEL                                                                                                \
    "(a.number = m.attempts AND (SELECT state FROM ensemble e WHERE e.id = a.ensemble) IN ('cancelled', 'failed') "    \
    "AND (SELECT v.id FROM event v WHERE v.ensemble = a.ensemble AND v.idx = a.idx AND v.kind = 'attempt.ended' "      \
    "AND json_extract(v.detail, '$.attempt') = a.number) < (SELECT max(v.id) FROM event v "                            \
    "WHERE v.ensemble = a.ensemble AND v.kind = 'training.restarted'))"

/* The events once more, by member: the table has no such index, and the conditions ask for each member's. While it is
 * there, it is meant by the name. */
static void events_by_member(struct sim *sim, bool there)
{
    const char *sql = there ? "CREATE TEMP TABLE event AS SELECT * FROM main.event; "
                              "CREATE INDEX temp.event_by_member ON event (ensemble, kind, idx, id)"
                            : "DROP TABLE temp.event";

    sim_commits_fail(sim, false);
    if (sqlite3_exec(sim_store(sim)->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        sim_violate(sim, "%s: %s", sql, sqlite3_errmsg(sim_store(sim)->db));
    sim_commits_fail(sim, true);
}

void watch_end(struct sim *sim)
{
    events_by_member(sim, true);
    SIM_HOLDS(sim, "members that are not final",
          "SELECT sum(n) FROM tally WHERE state IN ('pending', 'submitted', 'running')");
    SIM_HOLDS(sim, "tallies that are not what the rows say",
          "SELECT count(*) FROM tally t WHERE t.state NOT IN ('pending', 'cancelled') AND t.n <> (SELECT count(*) FROM "
          "member m WHERE m.ensemble = t.ensemble AND m.state = t.state)");
    SIM_HOLDS(sim, "tallies that are not what the rows and those without one say",
          "SELECT count(*) FROM ensemble e JOIN tally t ON t.ensemble = e.id AND t.state = 'cancelled' WHERE t.n <> "
          "(SELECT count(*) FROM member m WHERE m.ensemble = e.id AND m.state = 'cancelled') + e.count - e.next_index");
    SIM_HOLDS(sim, "members without a row, below the next",
          "SELECT count(*) FROM ensemble e WHERE e.next_index <> (SELECT count(*) FROM member m WHERE m.ensemble = "
          "e.id)");
    SIM_HOLDS(sim, "jobs that have not ended", "SELECT count(*) FROM job WHERE state <> 'ended'");
    SIM_HOLDS(sim, "succeeded members without exactly one succeeded attempt, the last, since their training began anew",
          "SELECT count(*) FROM member m WHERE m.state = 'succeeded' AND (SELECT group_concat(number) FROM attempt a "
          "WHERE a.ensemble = m.ensemble AND a.idx = m.idx AND a.outcome = 'succeeded' AND coalesce((SELECT v.id "
          "FROM event v WHERE v.ensemble = a.ensemble AND v.idx = a.idx AND v.kind = 'member.submitted' AND "
          "json_extract(v.detail, '$.attempt') = a.number) > (SELECT max(v.id) FROM event v WHERE v.ensemble = "
          "a.ensemble AND v.kind IN ('training.restarted', 'training.resubmitted')) OR (a.number = m.attempts AND (is_whole("
          "m.ensemble, m.idx, m.attempts, (SELECT resumed FROM training t WHERE t.ensemble = m.ensemble)) OR has_samples("
          "m.ensemble, (SELECT generation FROM training t WHERE t.ensemble = m.ensemble), m.idx, m.attempts))) OR " BEFORE_A_CANCEL
          ", 1)) IS NOT m.attempts");
    SIM_HOLDS(sim, "histories with a gap",
          "SELECT count(*) FROM member m WHERE (SELECT count(*) FROM attempt a WHERE a.ensemble = m.ensemble AND a.idx "
          "= m.idx) <> m.attempts");
    if (sim_wall(sim) == sim_now(sim)) /* the times are by one clock */
        SIM_HOLDS(sim, "attempts without their times, or in no order",
                  "SELECT count(*) FROM attempt WHERE ended IS NULL OR ended < submitted OR (started IS NOT NULL AND "
                  "started > ended)");
    SIM_HOLDS(sim, "attempts whose events are missing",
          "SELECT (SELECT count(*) FROM attempt) - (SELECT count(*) FROM event WHERE kind = 'member.submitted')");
    SIM_HOLDS(sim, "ends of attempts whose events are missing",
          "SELECT (SELECT count(*) FROM attempt) - (SELECT count(*) FROM event WHERE kind = 'attempt.ended')");
    SIM_HOLDS(sim, "succeeded attempts of which it was not told once that they run",
          "SELECT count(*) FROM attempt a WHERE a.outcome = 'succeeded' AND (SELECT count(*) FROM event v WHERE "
          "v.ensemble = a.ensemble AND v.idx = a.idx AND v.kind = 'member.running' AND json_extract(v.detail, "
          "'$.attempt') = a.number) <> 1");
    SIM_HOLDS(sim, "members that are not what their last event said",
          "SELECT count(*) FROM member m WHERE m.state IN ('succeeded', 'failed') AND m.state <> (SELECT "
          "json_extract(v.detail, '$.member') FROM event v WHERE v.ensemble = m.ensemble AND v.idx = m.idx AND v.kind "
          "= 'attempt.ended' ORDER BY v.id DESC LIMIT 1)");
    SIM_HOLDS(sim, "complete ensembles with cancelled members that nobody cancelled",
          "SELECT count(*) FROM member m JOIN ensemble e ON e.id = m.ensemble WHERE e.state = 'complete' AND m.state = "
          "'cancelled' AND NOT EXISTS (SELECT 1 FROM cancellation c WHERE c.ensemble = m.ensemble AND c.idx = m.idx) "
          "AND NOT EXISTS (SELECT 1 FROM training t WHERE t.ensemble = e.id AND t.early)");
    SIM_HOLDS(sim, "complete ensembles of which every member failed",
          "SELECT count(*) FROM ensemble e JOIN tally t ON t.ensemble = e.id AND t.state = 'failed' WHERE e.state = "
          "'complete' AND t.n = e.count AND e.count > 0");
    SIM_HOLDS(sim, "suggestions that are not members, or the other way round",
          "SELECT count(*) FROM ensemble e WHERE e.intake IS NOT NULL AND e.root IS NULL AND (SELECT count(*) FROM "
          "suggestion s WHERE s.ensemble = e.id) <> e.count");
    SIM_HOLDS(sim, "members that were suggested, and are not once among the results",
          "SELECT count(*) FROM member m JOIN ensemble e ON e.id = m.ensemble WHERE e.intake IS NOT NULL AND m.successor IS "
          "NULL AND (SELECT count(*) FROM result r WHERE r.root = coalesce(e.root, e.id) AND r.idx = m.idx AND "
          "r.ensemble = m.ensemble) <> 1");
    SIM_HOLDS(sim, "ensembles that nobody cancelled, and that have failed without a reason",
          "SELECT count(*) FROM ensemble WHERE (state = 'failed') <> (state IN ('failed', 'cancelled') AND reason IS "
          "NOT NULL)");
    SIM_HOLDS(sim, "cancelled members that are neither cancelled nor succeeded",
          "SELECT count(*) FROM cancellation c JOIN member m ON m.ensemble = c.ensemble AND m.idx = c.idx WHERE "
          "m.state NOT IN ('cancelled', 'succeeded')");
    SIM_HOLDS(sim, "cancelled members of which it was not told",
          "SELECT count(*) FROM cancellation c WHERE NOT EXISTS (SELECT 1 FROM event v WHERE v.ensemble = c.ensemble "
          "AND v.idx = c.idx AND v.kind = 'member.cancelled')");
    SIM_HOLDS(sim, "trainings that are not over",
              "SELECT count(*) FROM training WHERE state IN ('submitted', 'running')");
    SIM_HOLDS(sim, "jobs that the scheduler forgot, given up instead of submitted again",
          "SELECT count(*) FROM job j WHERE j.kind = 'members' AND j.pilot IS NULL AND j.submissions < 5 AND j.started "
          "IS NULL AND EXISTS (SELECT 1 FROM attempt a WHERE a.job = j.id AND a.outcome = 'lost') AND NOT "
          "told_ended(j.name)");
    SIM_HOLDS(sim, "failed members that failed too rarely",
          "SELECT count(*) FROM member m JOIN ensemble e ON e.id = m.ensemble WHERE m.state = 'failed' AND m.failures "
          "<= json_extract(e.spec, '$.members.retries') AND m.losses <= 10 AND m.reason NOT IN ('refused', 'the job "
          "can never run: never') AND NOT (m.reason LIKE 'stalled: %' AND m.stalls >= json_extract(e.spec, "
          "'$.members.checkpoint.attempts'))");
    SIM_HOLDS(sim, "attempts after the last that a member may stall",
          "SELECT count(*) FROM member m JOIN ensemble e ON e.id = m.ensemble WHERE m.stalls > json_extract(e.spec, "
          "'$.members.checkpoint.attempts')");
    SIM_HOLDS(sim, "unfinished members that got no further",
          "SELECT count(*) FROM member m WHERE m.state = 'unfinished' AND NOT got_further(m.ensemble || '.' || m.idx "
          "|| '.' || m.attempts)");
    SIM_HOLDS(sim, "members that got further, out of time, and are not unfinished",
          "SELECT count(*) FROM member m JOIN attempt a ON a.ensemble = m.ensemble AND a.idx = m.idx AND a.number = "
          "m.attempts WHERE m.state NOT IN ('unfinished', 'cancelled', 'stopped') AND a.outcome IN ('timeout', 'lost', "
          "'cancelled') AND got_further(m.ensemble || '.' || m.idx || '.' || m.attempts)");
    /* Only members that have run are looked at: the scheduler may have told of a start, or an end, of a member that had
     * not, and nobody has looked at its checkpoints then. */
    SIM_HOLDS(sim, "members whose newest checkpoint is not known, or another",
          "SELECT count(*) FROM member m JOIN ensemble e ON e.id = m.ensemble JOIN attempt a ON a.ensemble = "
          "m.ensemble AND a.idx = m.idx AND a.number = m.attempts WHERE json_extract(e.spec, '$.members.checkpoint') "
          "IS NOT NULL AND m.successor IS NULL AND a.started IS NOT NULL AND (m.since_in > 0 OR m.since <= m.attempts) AND "
          "ifnull(a.reason, '') NOT LIKE '%before it started%' AND NOT (ifnull(a.host, '') = '' AND "
          "(ifnull(a.reason, '') LIKE 'stopped:%' OR ifnull(a.reason, '') = 'cancelled' OR "
          "ifnull(a.reason, '') LIKE 'cancelled:%' OR ifnull(a.reason, '') LIKE 'the job can never run:%')) AND "
          "newest_number(coalesce(e.root, e.id), m.idx, CASE WHEN m.since = 0 THEN 0 WHEN m.since_in > 0 THEN "
          "m.since_in ELSE e.id END, m.since) <> (SELECT coalesce(max(k.number), 0) FROM member_checkpoint k WHERE "
          "k.home = coalesce(e.root, e.id) AND k.idx = m.idx)");
    SIM_HOLDS(sim, "members whose failures are not those of their attempts",
          "SELECT count(*) FROM (SELECT m.failures AS told, (SELECT count(*) FROM attempt a WHERE a.ensemble = "
          "m.ensemble AND a.idx = m.idx AND ((a.outcome = 'failed' AND a.signal IS NULL) OR (a.outcome = 'timeout' AND NOT EXISTS (SELECT 1 "
          "FROM ensemble e WHERE e.id = m.ensemble AND json_extract(e.spec, '$.members.checkpoint') IS NOT NULL)))) AS "
          "made, "
          "(SELECT count(*) FROM attempt a WHERE a.ensemble = m.ensemble AND a.idx = m.idx AND (a.outcome = 'lost' OR "
          "a.signal = 9) AND a.number > 3) AS lost, EXISTS (SELECT 1 FROM event v WHERE v.ensemble "
          "= m.ensemble AND v.kind IN ('member.resubmitted', 'ensemble.resubmitted', 'training.restarted', "
          "'training.resubmitted')) AS again "
          "FROM member m) WHERE told > made + lost OR (told < made AND NOT again)");
    SIM_HOLDS(sim, "members given up that might have been tried again, or the other way round",
          "SELECT count(*) FROM member m JOIN ensemble e ON e.id = m.ensemble WHERE e.state = 'complete' AND m.state = "
          "'failed' AND m.failures > 1 + json_extract(e.spec, '$.members.retries')");
    watch_families_end(sim);
    watch_pilots_end(sim);
    watch_trainings_end(sim);
    watch_elastic_end(sim);
    watch_rungs(sim);
    watch_points(sim);
    watch_history(sim);
    events_by_member(sim, false);
}

void watch_calm(struct sim *sim)
{
    /* the walltime of those that wait for ranks goes on */
    SIM_HOLDS(sim, "members that paid for what was no fault of theirs",
          "SELECT count(*) FROM member m JOIN ensemble e ON e.id = m.ensemble WHERE e.state = 'complete' AND NOT "
          "EXISTS (SELECT 1 FROM cancellation c WHERE c.ensemble = m.ensemble AND c.idx = m.idx) AND (m.failures > 0 "
          "OR m.losses > 0 OR (m.state NOT IN ('succeeded', 'stopped') AND json_extract(e.spec, '$.members.checkpoint') IS NULL)) AND NOT "
          "(EXISTS (SELECT 1 FROM training t WHERE t.ensemble = e.id) AND EXISTS (SELECT 1 FROM "
          "attempt a WHERE a.ensemble = m.ensemble AND a.idx = m.idx AND a.outcome = 'timeout'))");
}
