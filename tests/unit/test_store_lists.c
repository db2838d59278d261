/* What is listed page by page, or counted, or found from the latest on: nothing twice, nothing left out. */
#include "daemon/store/cause.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/event.h"
#include "daemon/store/internal.h"
#include "daemon/store/training.h"
#include "tests/unit/open_store.h"

#include <stdio.h>
#include <string.h>

static int note_job(void *arg, const struct job_row *row)
{
    note("%lld ", (long long)row->id);
    return 0;
}

static int64_t list_jobs(int64_t before, struct job_filter filter, int limit)
{
    int64_t next;

    must(store_job_each(store, before, &filter, limit, note_job, NULL, &next, &err));
    return next;
}

/* A list that has to look at many jobs, of which few pass the filter, goes on step by step. */
static void jobs_are_looked_through_in_steps(void **state)
{
    static const int64_t ids[] = {1, 2, STORE_JOB_STEP + 1, STORE_JOB_STEP + 2, 2 * STORE_JOB_STEP + 1};
    int64_t id = add_ensemble(9);

    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct job_row job = add_job(id, "local");

        must(store_exec(store, &err, "UPDATE job SET id = ?1 WHERE id = ?2", "ii", ids[i] + 100000, job.id));
    }
    must(store_exec(store, &err, "UPDATE job SET id = id - 100000", ""));
    assert_int_equal(list_jobs(0, (struct job_filter){0}, 9), STORE_JOB_STEP + 2);
    is_listed("40001 20002 ");
    assert_int_equal(list_jobs(STORE_JOB_STEP + 2, (struct job_filter){0}, 9), 2);
    is_listed("20001 2 ");
    assert_int_equal(list_jobs(2, (struct job_filter){0}, 9), 0);
    is_listed("1 ");
}

static int note_cause(void *arg, const struct cause_row *row)
{
    note("%s/%s %lldm %llda %lld.%lld; ", row->outcome, row->text, (long long)row->members, (long long)row->attempts,
         (long long)row->index, (long long)row->number);
    return 0;
}

static void fails(int64_t job, int64_t ensemble, int64_t index, int64_t number, enum attempt_outcome outcome,
                  const char *reason)
{
    struct attempt_row row = add_attempt(job, ensemble, index, number);

    row.end.outcome = outcome;
    row.end.ended_ms = 9;
    snprintf(row.end.reason, sizeof row.end.reason, "%s", reason);
    must(store_attempt_update(store, &row, &err));
    must(store_cause_count(store, &row, &err));
}

/* Members are counted once for each way in which they have failed, attempts each. */
static void causes_are_counted_by_members_and_attempts(void **state)
{
    int64_t id = add_ensemble(9), job = add_job(id, "local").id, n;

    fails(job, id, 0, 1, ATTEMPT_FAILED, "exit status 2");
    fails(job, id, 0, 2, ATTEMPT_FAILED, "exit status 2");
    fails(job, id, 0, 3, ATTEMPT_FAILED, "exit status 3");
    fails(job, id, 0, 4, ATTEMPT_FAILED, "exit status 2");
    fails(job, id, 1, 1, ATTEMPT_LOST, "exit status 2");
    fails(job, id, 1, 2, ATTEMPT_FAILED, "exit status 2");
    must(store_cause_each(store, id, 9, note_cause, NULL, &err));
    is_listed("failed/exit status 2 2m 4a 1.2; failed/exit status 3 1m 1a 0.3; lost/exit status 2 1m 1a 1.1; ");
    must(store_cause_total(store, id, &n, &err));
    assert_int_equal(n, 3);
    must(store_cause_each(store, id, 1, note_cause, NULL, &err));
    is_listed("failed/exit status 2 2m 4a 1.2; ");
}

/* Beyond so many they are counted together, and those that are known by themselves go on so. */
static void causes_beyond_a_number_are_one(void **state)
{
    int64_t id = add_ensemble(2000), job = add_job(id, "local").id, n;
    char reason[64];

    for (int64_t i = 0; i < CAUSES_MAX + 3; i++) {
        snprintf(reason, sizeof reason, "cause %c%c%c", (char)('a' + i % 26), (char)('a' + i / 26 % 26),
                 (char)('a' + i / 676));
        fails(job, id, i, 1, ATTEMPT_FAILED, reason);
    }
    fails(job, id, 1900, 1, ATTEMPT_FAILED, "cause baa");
    must(store_cause_total(store, id, &n, &err));
    assert_int_equal(n, CAUSES_MAX + 1);
    must(store_cause_each(store, id, 2, note_cause, NULL, &err));
    is_listed("failed/" CAUSE_OTHER " 3m 3a 502.1; failed/cause baa 2m 2a 1900.1; ");
}

static void a_cause_leaves_out_what_differs(void **state)
{
    static const char *const all[][2] = {
        {"exit status 2", "exit status 2"}, {"exit status 137", "exit status 137"}, {"exit status 1234", "exit status #"}, {"ended by signal 9 (killed)", "ended by signal 9 (killed)"},
        {"signal 9a", "signal #"}, {"step 17 of 200", "step # of #"}, {"node7 failed", "# failed"}, {"loss was 0.5, x", "loss was #.#, x"},
        {"cannot open /a/b-1.txt: no such file", "cannot open /…: no such file"}, {"see /a/b.", "see /…."}, {"a/b and /", "a/b and /"},
        {"(/tmp/x)=/tmp/y", "(/…)=/…"}, {"status", "status"}, {"état 5", "état #"}, {"", "no reason is known"},
    };
    char text[CAUSE_SIZE], longest[512];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        cause_text(all[i][0], text, sizeof text);
        assert_string_equal(text, all[i][1]);
    }
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    cause_text(longest, text, sizeof text);
    assert_in_range(strlen(text), CAUSE_SIZE - 9, CAUSE_SIZE - 1);
    for (int i = 0; i < 511; i++)
        longest[i] = i % 4 == 0 ? '/' : i % 4 == 1 ? 'x' : i % 4 == 2 ? ' ' : '7';
    cause_text(longest, text, sizeof text);
    assert_in_range(strlen(text), CAUSE_SIZE - 12, CAUSE_SIZE - 1);
}

/* Members that diverged more than once, and failed otherwise at last. */
static void members_that_diverged_are_counted_once(void **state)
{
    int64_t id = add_ensemble(9), job = add_job(id, "local").id, n;

    for (int64_t number = 1; number <= 3; number++)
        for (int64_t index = 0; index < 2; index++)
            fails(job, id, index, number, number == 3 ? ATTEMPT_FAILED : ATTEMPT_DIVERGED, "loss was NaN");
    must(store_cause_diverged(store, id, &n, &err));
    assert_int_equal(n, 2);
    must(store_cause_diverged(store, id + 1, &n, &err));
    assert_int_equal(n, 0);
}

static int note_ensemble(void *arg, const struct ensemble_row *row)
{
    note("%lld ", (long long)row->id);
    return 0;
}

/* One that has ended is looked at at the daemon's start where a job, a training or a change of many members of it is
 * under way. */
static void ensembles_that_have_something_to_do_are_loaded(void **state)
{
    struct ensemble_row row;
    struct job_row job;
    struct training_row training = {.state = TRAINING_RUNNING, .ranks = 1, .generation = 1, .created_ms = 1, .adapter = "local"};

    for (int i = 1; i <= 6; i++) {
        add_ensemble(9);
        must(store_ensemble_get(store, i, &row, &err));
        row.state = i == 1 ? ENSEMBLE_RUNNING : i == 2 ? ENSEMBLE_PAUSED : i == 3 ? ENSEMBLE_FAILED : ENSEMBLE_CANCELLED;
        row.ended_ms = i <= 2 ? 0 : 9;
        must(store_ensemble_update(store, &row, &err));
    }
    must(store_ensemble_each_live(store, note_ensemble, NULL, &err));
    is_listed("1 2 ");
    job = add_job(3, "local");
    training.ensemble = 4;
    must(store_training_insert(store, &training, &err));
    must(store_exec(store, &err, "INSERT INTO bulk_operation (ensemble, kind) VALUES (5, 'cancel')", ""));
    must(store_ensemble_each_live(store, note_ensemble, NULL, &err));
    is_listed("1 2 3 4 5 ");
    job.state = JOB_ENDED;
    job.ended_ms = 9;
    must(store_job_update(store, &job, &err));
    must(store_training_get(store, training.id, &training, &err));
    training.state = TRAINING_CANCELLED;
    must(store_training_update(store, &training, &err));
    must(store_ensemble_each_live(store, note_ensemble, NULL, &err));
    is_listed("1 2 5 ");
    must(store_ensemble_each(store, 4, &(struct ensemble_filter){0}, 2, note_ensemble, NULL, &err));
    is_listed("3 2 ");
}

static void list_ensembles(unsigned states, int64_t root, int64_t before, int limit)
{
    struct ensemble_filter filter = {.states = states, .root = root};

    must(store_ensemble_each(store, before, &filter, limit, note_ensemble, NULL, &err));
}

static int steps;

static int count_step(void *arg)
{
    steps++;
    return 0;
}

/* Whatever the number of ensembles: those that a list does not show are not looked at. */
static void a_list_by_state_looks_at_no_others(void **state)
{
    must(store_exec(store, &err, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
                    "INSERT INTO ensemble (name, state, adapter, spec, stream_key, count, width, created, ended) "
                    "SELECT 'e', iif(i = 5, 'running', iif(i % 2, 'complete', 'failed')), 'local', '{}', '', 9, 1, 1, "
                    "iif(i = 5, NULL, 9) FROM n", ""));
    sqlite3_progress_handler(store->db, 1, count_step, NULL);
    list_ensembles(1 << ENSEMBLE_RUNNING | 1 << ENSEMBLE_PAUSED, 0, 0, 100);
    is_listed("5 ");
    list_ensembles(1 << ENSEMBLE_COMPLETE | 1 << ENSEMBLE_FAILED, 0, 0, 2);
    is_listed("20000 19999 ");
    sqlite3_progress_handler(store->db, 0, NULL, NULL);
    assert_in_range(steps, 1, 2000);
}

/* Two members from 1 s to 4 s, one from 3 s to 5 s; nothing; two short ones after each other from 60 s on. */
static void time_in_which_nothing_ran_is_found(void **state)
{
    static const int64_t times[][2] = {{1000, 4000}, {1000, 4000}, {3000, 5000}, {60000, 60010}, {60500, 60510}};
    int64_t id = add_ensemble(60), job = add_job(id, "local").id, idle;
    struct attempt_row running;

    must(store_ensemble_idle(store, id, 0, 90000, &idle, &err));
    assert_int_equal(idle, 0); /* nothing is known */
    for (int64_t i = 0; i < 5; i++) {
        struct attempt_row row = add_attempt(job, id, i, 1);

        row.end.outcome = ATTEMPT_SUCCEEDED;
        row.end.started_ms = times[i][0];
        row.end.ended_ms = times[i][1];
        must(store_attempt_update(store, &row, &err));
    }
    must(store_ensemble_idle(store, id, 1000, 60510, &idle, &err));
    assert_int_equal(idle, 55000);
    must(store_ensemble_idle(store, id, 0, 90510, &idle, &err));
    assert_int_equal(idle, 1000 + 55000 + 30000); /* before the first, and after the last */
    must(store_ensemble_idle(store, id, 60005, 60510, &idle, &err));
    assert_int_equal(idle, 0);
    running = add_attempt(job, id, 5, 1);
    running.end.started_ms = 62510;
    must(store_attempt_start(store, &running, &err));
    must(store_ensemble_idle(store, id, 1000, 90510, &idle, &err));
    assert_int_equal(idle, 55000 + 2000); /* until the one began that runs */
}

/* The rate and the estimate are made of these. */
static void successes_are_found_from_the_latest_on(void **state)
{
    int64_t id = add_ensemble(60), job = add_job(id, "local").id, at, last, took;

    must(store_ensemble_pace(store, id, &last, &took, &err));
    assert_true(last == 0 && took == 0);
    for (int64_t i = 0; i < 30; i++) {
        struct attempt_row row = add_attempt(job, id, i, 1);

        row.end.outcome = i == 29 ? ATTEMPT_FAILED : ATTEMPT_SUCCEEDED;
        /* but for the first, which is one of the latest 20 no more, the later the longer */
        row.end.ended_ms = 100 + (i == 0 ? 10 : 3 * i);
        must(store_attempt_update(store, &row, &err));
    }
    assert_int_equal(store_ensemble_success(store, id, 1, &at, &err), 1);
    assert_int_equal(at, 100 + 3 * 28);
    assert_int_equal(store_ensemble_success(store, id, 28, &at, &err), 1);
    assert_int_equal(at, 100 + 3 * 2);
    assert_int_equal(store_ensemble_success(store, id, 29, &at, &err), 1);
    assert_int_equal(store_ensemble_success(store, id, 30, &at, &err), 0);
    must(store_ensemble_pace(store, id, &last, &took, &err));
    assert_int_equal(last, 100 + 3 * 28);
    assert_int_equal(took, 99 + 3 * 28);
}

static int note_event(void *arg, const struct event_row *row)
{
    note("%lld:%s:%lld:%s ", (long long)row->ensemble, row->kind, (long long)row->index,
         row->detail != NULL ? row->detail : "-");
    return 0;
}

/* More than one statement writes at once, with details and without, in any order. */
static void events_have_their_own_details(void **state)
{
    struct event_filter all = {0}, some = {.ensemble = 2, .kind = "k1"};
    int64_t oldest, newest;

    must(store_event_bounds(store, &oldest, &newest, &err));
    assert_true(oldest == 1 && newest == 0);
    for (int i = 0; i < 11; i++) {
        char kind[16], detail[16];

        snprintf(kind, sizeof kind, "k%d", i % 2);
        snprintf(detail, sizeof detail, "%d", i);
        must(store_event_put(store, i, kind, 1 + i % 3, i % 4 == 0 ? -1 : i, i % 3 == 1 ? detail : NULL, &err));
    }
    must(store_event_each(store, 0, 100, &all, 100, note_event, NULL, &err));
    is_listed("1:k0:-1:- 2:k1:1:1 3:k0:2:- 1:k1:3:- 2:k0:-1:4 3:k1:5:- 1:k0:6:- 2:k1:7:7 3:k0:-1:- 1:k1:9:- 2:k0:10:10 ");
    must(store_event_each(store, 2, 11, &some, 100, note_event, NULL, &err));
    is_listed("2:k1:7:7 ");
    must(store_commit(store, &err));
    must(store_event_newest_of(store, 3, &newest, &err));
    assert_int_equal(newest, 9);
    must(store_event_prune(store, 5, 100, &newest, &err));
    must(store_event_bounds(store, &oldest, &newest, &err));
    assert_true(oldest == 6 && newest == 11);
}

/* A client that asks for what came after the last one that it was told of is told of all that comes. */
static void ids_of_events_are_never_given_twice(void **state)
{
    int64_t n;

    for (int i = 0; i < 3; i++)
        must(store_event_put(store, 10, "x", 1, -1, NULL, &err));
    must(store_commit(store, &err));
    must(store_event_prune(store, 50, 100, &n, &err));
    assert_int_equal(n, 3);
    must(store_commit(store, &err));
    must(reopen_store());
    assert_int_equal(store_event_newest(store), 3);
    must(store_event_put(store, 60, "x", 1, -1, NULL, &err));
    must(store_commit(store, &err));
    assert_int_equal(store_event_newest(store), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_are_looked_through_in_steps, open_store, close_store),
        cmocka_unit_test_setup_teardown(causes_are_counted_by_members_and_attempts, open_store, close_store),
        cmocka_unit_test_setup_teardown(causes_beyond_a_number_are_one, open_store, close_store),
        cmocka_unit_test(a_cause_leaves_out_what_differs),
        cmocka_unit_test_setup_teardown(members_that_diverged_are_counted_once, open_store, close_store),
        cmocka_unit_test_setup_teardown(ids_of_events_are_never_given_twice, open_store, close_store),
        cmocka_unit_test_setup_teardown(ensembles_that_have_something_to_do_are_loaded, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_list_by_state_looks_at_no_others, open_store, close_store),
        cmocka_unit_test_setup_teardown(events_have_their_own_details, open_store, close_store),
        cmocka_unit_test_setup_teardown(time_in_which_nothing_ran_is_found, open_store, close_store),
        cmocka_unit_test_setup_teardown(successes_are_found_from_the_latest_on, open_store, close_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
