/* The engine on a store that fails: a scripted life on the simulated cluster, in which the n-th call of SQLite on
 * files, locks or memory fails, once or for a while. What was answered holds, the books balance, and all comes to its
 * end once the fault is gone.
 *
 * FAULT_EVERY=1 tries every n, which takes hours (the default leaves some out if there are many); FAULT_EVERY=10:3
 * every tenth, from the third on, so that the work can be divided; FAULT=KIND:N one again, with FAULT_LOG=1 the
 * daemon's log. */
#include "common/log.h"
#include "daemon/store/internal.h"
#include "tests/sim/faultfs.h"
#include "tests/sim/sim.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS_MAX 100000
#define FAULT_STEPS 300 /* after which it is gone in any case */

static const struct {
    const char *name;
    enum faultfs_kind kind;
    int64_t times;
} faults[] = {
    {"an unreadable page", FAULT_READ, 1}, {"an I/O error", FAULT_IO, 1},  {"I/O errors", FAULT_IO, 40},  {"a full disk, once", FAULT_FULL, 1},
    {"a full disk", FAULT_FULL, 40}, {"a torn write", FAULT_TORN, 1}, {"no memory, once", FAULT_MALLOC, 1},
    {"no memory", FAULT_MALLOC, 60},
};
#define FAULTS (sizeof faults / sizeof *faults)

static void check_books(struct sim *sim)
{
    faultfs_pause(true);
    SIM_HOLDS(sim, "tallies that do not add up to the count",
          "SELECT count(*) FROM ensemble e WHERE (SELECT sum(n) FROM tally t WHERE t.ensemble = e.id) <> e.count");
    SIM_HOLDS(sim, "tallies that are not those of the rows",
          "SELECT count(*) FROM tally t WHERE state <> 'pending' AND NOT (state = 'cancelled' AND EXISTS (SELECT 1 FROM "
          "ensemble e WHERE e.id = t.ensemble AND e.state IN ('cancelled', 'failed'))) AND n <> (SELECT count(*) FROM member m WHERE "
          "m.ensemble = t.ensemble AND m.state = t.state)");
    SIM_HOLDS(sim, "members under way without an open attempt, or the other way round",
          "SELECT count(*) FROM member m WHERE (m.state IN ('submitted', 'running')) <> EXISTS (SELECT 1 FROM attempt a "
          "WHERE a.ensemble = m.ensemble AND a.idx = m.idx AND a.outcome IS NULL)");
    SIM_HOLDS(sim, "open attempts of ended jobs",
          "SELECT count(*) FROM attempt a JOIN job j ON j.id = a.job WHERE a.outcome IS NULL AND j.state = 'ended'");
    SIM_HOLDS(sim, "histories with a gap",
          "SELECT count(*) FROM member m WHERE (SELECT count(*) FROM attempt a WHERE a.ensemble = m.ensemble AND a.idx = "
          "m.idx) <> m.attempts");
    SIM_HOLDS(sim, "attempts without their events",
          "SELECT count(*) FROM attempt a WHERE (SELECT count(*) FROM event v WHERE v.ensemble = a.ensemble AND v.idx = a.idx "
          "AND v.kind = 'attempt.ended' AND json_extract(v.detail, '$.attempt') = a.number) <> (a.outcome IS NOT NULL) "
          "OR (SELECT count(*) FROM event v WHERE v.ensemble = a.ensemble AND v.idx = a.idx AND v.kind = 'member.submitted' "
          "AND json_extract(v.detail, '$.attempt') = a.number) <> 1");
    faultfs_pause(false);
}

static void check_end(struct sim *sim)
{
    faultfs_pause(true);
    SIM_HOLDS(sim, "members that are not final",
              "SELECT sum(n) FROM tally WHERE state IN ('pending', 'submitted', 'running')");
    SIM_HOLDS(sim, "jobs that have not ended", "SELECT count(*) FROM job WHERE state <> 'ended'");
    SIM_HOLDS(sim, "a store that is damaged",
              "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'");
    SIM_HOLDS(sim, "references that are broken", "SELECT count(*) FROM pragma_foreign_key_check");
    faultfs_pause(false);
}

/* What was answered. */
struct ledger {
    int64_t ids[3], widths[3];
    bool cancelled[3];
    size_t n;
};

static void refused_for_good(struct sim *sim, const char *what, const struct error *err)
{
    if (strncmp(err->code, "store_", 6) != 0 && strcmp(err->code, "ensemble_over") != 0 &&
        strcmp(err->code, "training_over") != 0)
        sim_violate(sim, "%s: %s: %s", what, err->code, err->text);
}

static void submit(struct sim *sim, struct ledger *ledger)
{
    static const int counts[] = {8, 12, 6}, widths[] = {3, 5, 2};
    size_t i = ledger->n;
    json_t *spec = json_pack("{s:s, s:i, s:i, s:{s:[s], s:i, s:{s:s, s:i, s:{s:[ff]}}}}", "name", "f", "width",
                             widths[i], "pack", (int)i + 1, "members", "command", "x", "retries", 1, "parameters",
                             "method", "halton", "count", counts[i], "space", "p", 0.0, 1.0);
    struct error err;
    int64_t id;

    if (i == 1)
        json_object_set_new(spec, "training", json_pack("{s:[s], s:{s:{s:s, s:[i]}}}", "command", "y", "fields", "u", "dtype",
                                                        "float32", "shape", 4));
    if (sim_submit(sim, spec, &id, &err) == 0) {
        if (sim_turn(sim) == 0) {
            ledger->ids[i] = id;
            ledger->widths[i] = widths[i];
            ledger->n++;
        }
    } else {
        refused_for_good(sim, "a submission", &err);
        sim_turn(sim);
    }
    json_decref(spec);
}

static void resize(struct sim *sim, struct ledger *ledger, size_t i, int64_t width, enum engine_shrink how)
{
    struct error err;

    if (engine_resize(sim_engine(sim), ledger->ids[i], width, how, "over the Unix socket", &sim_left, &err) == 0) {
        if (sim_turn(sim) == 0)
            ledger->widths[i] = width;
        else
            ledger->widths[i] = 0; /* before or after: not known */
    } else {
        refused_for_good(sim, "a resize", &err);
        sim_turn(sim);
    }
}

/* The calls that users make, at fixed steps. */
static void script(struct sim *sim, struct ledger *ledger, int step)
{
    static const enum member_state states[] = {MEMBER_FAILED, MEMBER_UNFINISHED};
    struct engine *engine = sim_engine(sim);
    struct error err;
    int64_t n;

    if (step % 10 == 0 && ledger->n < (step < 60 ? 2 : 3))
        submit(sim, ledger);
    if (ledger->n == 0)
        return;
    if (step == 40 && engine_pause(engine, ledger->ids[0], "", &sim_left, &err) < 0)
        refused_for_good(sim, "a pause", &err);
    if ((step == 55 || (step > 55 && step % 50 == 5)) && engine_resume(engine, ledger->ids[0], &sim_left, &err) < 0)
        refused_for_good(sim, "a resumption", &err);
    if (step == 70)
        resize(sim, ledger, 0, 1, ENGINE_SHRINK_NOW);
    if (step == 80)
        resize(sim, ledger, 0, 4, ENGINE_SHRINK_LATER);
    if (step % 90 == 1 && step < 500 && engine_resubmit(engine, ledger->ids[0], states, 2, false, &n, &sim_left, &err) < 0)
        refused_for_good(sim, "a resubmission", &err);
    if (step >= 100 && ledger->n == 3 && !ledger->cancelled[2]) {
        if (engine_cancel(engine, ledger->ids[2], &sim_left, &err) == 0)
            ledger->cancelled[2] = sim_turn(sim) == 0;
        else
            refused_for_good(sim, "a cancel", &err);
    }
    sim_turn(sim);
}

static void check_ledger(struct sim *sim, const struct ledger *ledger)
{
    struct ensemble_row row;
    struct error err;

    faultfs_pause(true);
    for (size_t i = 0; i < ledger->n; i++) {
        if (store_ensemble_get(sim_store(sim), ledger->ids[i], &row, &err) != 1)
            sim_violate(sim, "ensemble %lld was accepted, and is lost", (long long)ledger->ids[i]);
        else if (ledger->widths[i] != 0 && row.width != ledger->widths[i])
            sim_violate(sim, "the width of ensemble %lld is %lld, and not as it was answered", (long long)row.id,
                        (long long)row.width);
        else if (ledger->cancelled[i] && !ensemble_is_over(&row))
            sim_violate(sim, "ensemble %lld was cancelled, and is not", (long long)row.id);
    }
    faultfs_pause(false);
}

static bool is_over(struct sim *sim)
{
    bool over;

    faultfs_pause(true);
    over = sim_is_over(sim);
    faultfs_pause(false);
    return over;
}

static bool one_life(size_t fault, int64_t n)
{
    static const struct sim_faults cluster = {.submit_unsure = 40, .poll_unsure = 60, .runner_killed = 30, .task_fails = 120, .records_lost = 300,
                                              .nudge_lost = 200};
    char dir[64], command[96], violation[400] = "";
    struct ledger ledger = {.n = 0};
    struct sim *sim;
    bool struck = false;

    snprintf(dir, sizeof dir, "%s/stretto-faults-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(faultfs_install(n % 5 == 0), 0);
    sim = sim_create(7, &cluster, dir);
    sim_boot(sim);
    /* so that what is read comes from the disk */
    sqlite3_exec(sim_store(sim)->db, "PRAGMA cache_size = 0", NULL, NULL, NULL);
    faultfs_arm(faults[fault].kind, n, faults[fault].times);
    for (int step = 0; sim_violation(sim) == NULL; step++) {
        if (step == FAULT_STEPS) {
            struck = faultfs_struck();
            faultfs_disarm();
            check_books(sim);
            check_ledger(sim, &ledger);
        }
        if (step > STEPS_MAX)
            sim_violate(sim, "no end after %d steps", step);
        script(sim, &ledger, step);
        if (step > FAULT_STEPS && ledger.n == 3 && step % 16 == 0 && is_over(sim))
            break;
        sqlite3_db_release_memory(sim_store(sim)->db);
        if (!sim_step(sim) && step > FAULT_STEPS && !is_over(sim) && step % 50 == 0)
            sim_violate(sim, "nothing will happen any more, and it is not over");
    }
    faultfs_disarm();
    if (sim_violation(sim) == NULL) {
        check_books(sim);
        check_end(sim);
        check_ledger(sim, &ledger);
    }
    if (sim_violation(sim) != NULL)
        snprintf(violation, sizeof violation, "%s", sim_violation(sim));
    sim_destroy(sim);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    assert_int_equal(system(command), 0);
    if (violation[0])
        fail_msg("FAULT=%zu:%lld (%s): %s", fault, (long long)n, faults[fault].name, violation);
    return struck;
}

static void what_is_answered_holds_in_spite_of_faults(void **state)
{
    const char *one = getenv("FAULT"), *every = getenv("FAULT_EVERY");
    long long n, from = 1, step = 0;
    size_t fault;

    if (one != NULL) {
        assert_int_equal(sscanf(one, "%zu:%lld", &fault, &n), 2);
        one_life(fault, n);
        return;
    }
    if (every != NULL)
        assert_in_range(sscanf(every, "%lld:%lld", &step, &from), 1, 2);
    for (fault = 0; fault < FAULTS; fault++) {
        for (n = from; one_life(fault, n); n += step ? step : 1 + n / (faults[fault].kind == FAULT_READ ? 12 : 5))
            ;
        if (every != NULL)
            fprintf(stderr, "%s: up to %lld\n", faults[fault].name, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_answered_holds_in_spite_of_faults)};

    log_init("faults", getenv("FAULT_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    if (faultfs_install(false) < 0)
        return 99;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
