/* The rows that one turn of the loop writes when a call is about a hundred thousand members, or thousands of jobs: the
 * same for any number of them. A daemon that dies in between goes on, and what was answered holds. */
#include "common/log.h"
#include "daemon/engine/memory/core.h"
#include "daemon/engine/engine.h"
#include "daemon/store/internal.h"
#include "tests/sim/memory.h"
#include "tests/sim/sim.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MEMBERS 100000
#define JOBS 2000
#define SLICE 500
#define WRITTEN_MAX (2 * SLICE * 5) /* two states at once; a member, its place in two tallies, and what a turn writes besides */

static char dir[64];
static struct sim *sim;
static int64_t id;
static struct error err;

static int begin(void **state)
{
    static const struct sim_faults calm = {.queue_ms = 10, .run_ms = 1, .forget_ms = 1000, .disk_ms = 1, .answer_ms = 1, .tidy = true};

    snprintf(dir, sizeof dir, "%s/stretto-test-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(dir));
    sim_memory(false);
    sim = sim_create(1, &calm, dir);
    sim_boot(sim);
    return 0;
}

static int end(void **state)
{
    sim_destroy(sim);
    sim_remove_state(dir);
    return rmdir(dir);
}

static void submit(int64_t count, int64_t width)
{
    json_t *spec = json_pack("{s:s, s:s, s:i, s:{s:[s], s:{s:s, s:I, s:i, s:{s:[ii]}}}}", "name", "x", "adapter",
                             sim_adapters[0], "width", (int)width, "members", "command", "true", "parameters", "method",
                             "monte-carlo", "count", (json_int_t)count, "seed", 1, "space", "x", 0, 1);

    if (sim_submit(sim, spec, &id, &err) < 0)
        fail_msg("%s %s", err.pointer, err.text);
    json_decref(spec);
}

static int64_t in_state(enum member_state state)
{
    int64_t tally[MEMBER_STATE_COUNT];

    assert_int_equal(store_tally_get(sim_store(sim), id, tally, &err), 0);
    return tally[state];
}

/* What many days of work would leave, after the first member, which begins at once: every member failed, or every
 * second is unfinished; or waits to be tried once more. */
static void leave_behind(const char *states)
{
    assert_int_equal(engine_pause(sim_engine(sim), id, "", &sim_left, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    while (in_state(MEMBER_SUCCEEDED) == 0)
        assert_true(sim_step(sim));
    if (store_exec(sim_store(sim), &err,
                   "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2) "
                   "INSERT INTO member (ensemble, idx, state, attempts, failures) SELECT ?1, i, iif(?3 = 'pending', ?3, "
                   "iif(?3 = 'both' AND i % 2 = 0, 'unfinished', 'failed')), 1, 1 FROM n",
                   "iit", id, (int64_t)MEMBERS, states) < 0 ||
        store_exec(sim_store(sim), &err, "UPDATE ensemble SET next_index = ?2 WHERE id = ?1", "ii", id, (int64_t)MEMBERS + 1) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(sim_turn(sim), 0);
    sim_crash(sim);
    sim_boot(sim);
    sim_engine(sim)->slice = SLICE;
    sim_turn(sim);
}

/* Rows written since the last look, which is at the end of every turn. */
static int64_t written(void)
{
    static sqlite3 *db;
    static int64_t before;
    int64_t all = sqlite3_total_changes64(sim_store(sim)->db), n = all - (db == sim_store(sim)->db ? before : 0);

    db = sim_store(sim)->db;
    before = all;
    return n;
}

static bool bulk_left(void)
{
    return sim_number(sim, "SELECT count(*) FROM bulk_operation") > 0;
}

/* Turn by turn, with a crash after some of them; how many it takes. */
static int work_it_off(int crash_after)
{
    int turns = 0;

    assert_int_equal(sim_turn(sim), 0);
    assert_in_range(written(), 1, WRITTEN_MAX);
    while (bulk_left()) {
        if (++turns == crash_after) {
            sim_crash(sim);
            sim_boot(sim);
            sim_engine(sim)->slice = SLICE;
            written();
        }
        assert_true(sim_step(sim));
        assert_in_range(written(), 0, WRITTEN_MAX);
        assert_null(sim_violation(sim));
    }
    return turns;
}

static void a_hundred_thousand_are_resubmitted(void **state)
{
    static const enum member_state both[] = {MEMBER_FAILED, MEMBER_UNFINISHED};
    int64_t n;

    submit(MEMBERS + 1, 1);
    leave_behind("both");
    written();
    assert_int_equal(engine_resubmit(sim_engine(sim), id, both, 2, false, &n, &sim_left, &err), 0);
    assert_int_equal(n, MEMBERS);
    assert_in_range(work_it_off(20), MEMBERS / SLICE / 2, 3 * MEMBERS / SLICE);
    assert_int_equal(in_state(MEMBER_PENDING), MEMBERS);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE failures > 0"), 0);
}

/* Asked again before that is done, the last word holds for those that are left. */
static void it_is_asked_for_twice(void **state)
{
    static const enum member_state failed[] = {MEMBER_FAILED};
    int64_t n;

    submit(MEMBERS + 1, 1);
    leave_behind("failed");
    written();
    assert_int_equal(engine_resubmit(sim_engine(sim), id, failed, 1, false, &n, &sim_left, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    assert_int_equal(engine_resubmit(sim_engine(sim), id, failed, 1, true, &n, &sim_left, &err), 0);
    assert_int_equal(n, MEMBERS - SLICE);
    work_it_off(0);
    assert_int_equal(in_state(MEMBER_PENDING), MEMBERS);
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM member WHERE state = 'pending' AND since = 0"), SLICE);
}

static void a_hundred_thousand_are_cancelled(void **state)
{
    submit(2 * MEMBERS + 1, 1);
    leave_behind("pending");
    written();
    assert_int_equal(engine_cancel(sim_engine(sim), id, &sim_left, &err), 0);
    work_it_off(20);
    assert_int_equal(in_state(MEMBER_CANCELLED), 2 * MEMBERS);
    assert_int_equal(in_state(MEMBER_PENDING), 0);
}

/* Cancelled while it is being resubmitted: those that were not pending yet stay as they were. */
static void what_is_left_to_resubmit_is_not(void **state)
{
    static const enum member_state failed[] = {MEMBER_FAILED};
    int64_t n;

    submit(MEMBERS + 1, 1);
    leave_behind("failed");
    written();
    assert_int_equal(engine_resubmit(sim_engine(sim), id, failed, 1, false, &n, &sim_left, &err), 0);
    assert_int_equal(engine_cancel(sim_engine(sim), id, &sim_left, &err), 0);
    work_it_off(0);
    assert_int_equal(in_state(MEMBER_CANCELLED), SLICE);
    assert_int_equal(in_state(MEMBER_FAILED), MEMBERS - SLICE);
}

static void thousands_of_jobs_are_stopped(void **state)
{
    struct ensemble_row row;

    submit(JOBS, JOBS);
    while (sim_number(sim, "SELECT count(*) FROM job") < JOBS)
        assert_true(sim_step(sim));
    sim_engine(sim)->slice = SLICE;
    written();
    assert_int_equal(engine_resize(sim_engine(sim), id, 10, ENGINE_SHRINK_NOW, "over the Unix socket", &sim_left, &err), 0);
    assert_int_equal(sim_turn(sim), 0);
    assert_in_range(written(), 1, WRITTEN_MAX);
    assert_int_equal(sim_number(sim, "SELECT sum(cancel) FROM job"), SLICE);
    sim_crash(sim); /* what was answered holds: no more than 10 are left */
    sim_boot(sim);
    sim_engine(sim)->slice = SLICE;
    while (bulk_left())
        assert_true(sim_step(sim));
    assert_true(sim_number(sim, "SELECT count(*) FROM job WHERE NOT cancel AND state <> 'ended'") <= 10);
    assert_int_equal(store_ensemble_get(sim_store(sim), id, &row, &err), 1);
    assert_int_equal(row.width, 10);
    assert_null(sim_violation(sim));
}

#define CANCELLED "SELECT count(*) FROM job WHERE cancel AND state <> 'ended'"

/* Some jobs run, the others wait. */
static void queue_up(int jobs)
{
    struct sim_faults calm = *sim_faults_of(sim);

    calm.queue_ms = calm.run_ms = 6000000;
    sim_set_faults(sim, &calm);
    submit(jobs, jobs);
    assert_int_equal(sim_turn(sim), 0);
    while (sim_number(sim, "SELECT count(*) FROM job WHERE state = 'running'") < 20)
        assert_true(sim_step(sim));
}

/* No job is ordered to end before all that are to end are marked, however many turns that takes, and however often the
 * daemon dies: the end of a running one would start a waiting one of which the scheduler has not heard yet. */
static void until_ordered(int64_t stay)
{
    int before = sim_cancels(sim);

    assert_int_equal(sim_turn(sim), 0);
    while (sim_cancels(sim) == before)
        assert_true(sim_step(sim));
    assert_in_range(sim_number(sim, "SELECT count(*) FROM job WHERE NOT cancel AND state <> 'ended'"), 0, stay);
    assert_in_range(sim_cancels(sim) - before, 0.9 * (double)sim_number(sim, CANCELLED), JOBS);
    assert_null(sim_violation(sim));
}

static void waiting_jobs_are_cancelled_with_those_that_run(void **state)
{
    for (int crash = 0; crash < 2; crash++) {
        queue_up(JOBS);
        assert_int_equal(engine_cancel(sim_engine(sim), id, &sim_left, &err), 0);
        if (crash == 1) {
            assert_int_equal(sim_turn(sim), 0);
            assert_in_range(sim_number(sim, CANCELLED), 1, JOBS / 2);
            sim_crash(sim);
            sim_boot(sim);
        }
        until_ordered(0);
        while (sim_live_jobs(sim) > 0)
            assert_true(sim_step(sim));
    }
    queue_up(JOBS);
    sim_engine(sim)->slice = SLICE;
    assert_int_equal(engine_resize(sim_engine(sim), id, 2, ENGINE_SHRINK_NOW, "over the Unix socket", &sim_left, &err), 0);
    until_ordered(2);
}

static bool held;

static bool is_held(void *arg, int64_t ensemble, int64_t index)
{
    return held && ensemble == id && index == 0;
}

/* While a member's directory may be removed, no attempt of it is started; that of another member is. */
static void what_is_held_waits(void **state)
{
    sim_engine(sim)->ports.held = is_held;
    held = true;
    submit(2, 2);
    assert_int_equal(sim_turn(sim), 0);
    while (in_state(MEMBER_SUCCEEDED) == 0)
        assert_true(sim_step(sim));
    for (int i = 0; i < 100; i++)
        assert_true(sim_step(sim));
    assert_int_equal(sim_number(sim, "SELECT count(*) FROM job j, attempt a WHERE a.job = j.id AND a.idx = 0 AND "
                                     "j.submitted IS NULL"), 1);
    held = false;
    while (in_state(MEMBER_SUCCEEDED) < 2)
        assert_true(sim_step(sim));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_held_waits),
        TEST(a_hundred_thousand_are_resubmitted),
        TEST(it_is_asked_for_twice),
        TEST(a_hundred_thousand_are_cancelled),
        TEST(what_is_left_to_resubmit_is_not),
        TEST(thousands_of_jobs_are_stopped),
        TEST(waiting_jobs_are_cancelled_with_those_that_run),
    };

    test_limit(400);
    log_init("sim", LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
