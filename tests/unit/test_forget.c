/* What the store lets go after a while: captured output of members, and events. */
#include "daemon/store/attempt.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/event.h"
#include "daemon/store/job.h"
#include "daemon/store/member.h"
#include "daemon/store/retain.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDED_MS 5000

static char dir[64];
static struct store *store;

static int open_store(void **state)
{
    struct error err;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    return mkdtemp(dir) == NULL || store_open(&store, dir, &err) < 0;
}

static int close_store(void **state)
{
    char rm[128];

    store_close(store);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

/* One that has ended, with a member in each final state, each of one attempt. */
static int64_t ended_ensemble(void)
{
    static const enum member_state states[] = {MEMBER_SUCCEEDED, MEMBER_FAILED, MEMBER_UNFINISHED, MEMBER_CANCELLED};
    struct ensemble_row row = {.name = "x", .adapter = "local", .stream_key = "0", .count = 4, .width = 1, .created_ms = 1};
    struct job_row job = {.kind = JOB_MEMBERS, .adapter = "local", .size = 4, .created_ms = 1};
    struct error err;

    assert_int_equal(store_ensemble_insert(store, &row, "{}", &err), 0);
    job.ensemble = row.id;
    assert_int_equal(store_job_insert(store, 0x3f9c2a71, &job, &err), 0);
    for (int64_t i = 0; i < 4; i++) {
        struct member_row member = {.ensemble = row.id, .index = i, .state = states[i], .attempts = 1};
        struct attempt_row attempt = {.ensemble = row.id, .index = i, .number = 1, .job = job.id, .submitted_ms = 1,
                                      .end.outcome = i == 0 ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED, .end.ended_ms = 2};

        assert_int_equal(store_member_put(store, &member, &err), 0);
        assert_int_equal(store_attempt_insert(store, &attempt, &err), 0);
        assert_int_equal(store_attempt_update(store, &attempt, &err), 0);
    }
    row.state = ENSEMBLE_COMPLETE;
    row.ended_ms = ENDED_MS;
    row.next_index = 4;
    assert_int_equal(store_ensemble_update(store, &row, &err), 0);
    return row.id;
}

static int note_index(void *arg, const struct released *attempt)
{
    *(unsigned *)arg |= 1u << attempt->index;
    return 0;
}

/* The members whose output goes, as bits. */
static unsigned released(enum retain retain)
{
    int64_t ensemble, from, next;
    unsigned members = 0;
    struct error err;

    assert_int_equal(store_sweep_find(store, retain, ENDED_MS + 1, &ensemble, &from, &err), 1);
    assert_int_equal(store_sweep_mark(store, retain, ensemble, from, 10, 9000, note_index, &members, &next, &err), 0);
    assert_int_equal(next, -1);
    assert_int_equal(store_sweep_advance(store, retain, ensemble, next, &err), 0);
    return members;
}

/* An ensemble that was cancelled is over before its last attempts are. */
static void output_stays_while_it_is_written(void **state)
{
    int64_t id = ended_ensemble(), ensemble, from;
    struct attempt_row open = {.ensemble = id, .index = 3, .number = 2, .job = 1, .submitted_ms = 3};
    struct error err;

    assert_int_equal(store_attempt_insert(store, &open, &err), 0);
    assert_int_equal(store_sweep_find(store, RETAIN_NONE, INT64_MAX, &ensemble, &from, &err), 0);
    open.end.outcome = ATTEMPT_CANCELLED;
    open.end.ended_ms = ENDED_MS + 100;
    assert_int_equal(store_attempt_update(store, &open, &err), 0);
    assert_int_equal(released(RETAIN_NONE), 1 + 2 + 4 + 8);
}

static int note_number(void *arg, const struct released *attempt)
{
    char *text = arg;

    snprintf(text + strlen(text), 64 - strlen(text), "%lld.%lld%s%s ", (long long)attempt->index,
             (long long)attempt->number, attempt->job_name[0] != '\0' ? "j" : "", attempt->goes_on ? "f" : "");
    return 0;
}

/* One step of a sweep: what goes, and where the next one goes on. */
static int64_t step(int64_t ensemble, enum retain retain, int64_t from, int limit, const char *expected)
{
    char text[64] = "";
    int64_t next;
    struct error err;

    assert_int_equal(store_sweep_mark(store, retain, ensemble, from, limit, 9000, note_number, text, &next, &err), 0);
    assert_string_equal(text, expected);
    return next;
}

/* A sweep goes on where it was; what was marked and is perhaps not removed yet is told again. */
static void a_sweep_goes_on_where_it_was(void **state)
{
    int64_t id = ended_ensemble(), ensemble, from;
    struct attempt_row attempt;
    struct error err;

    assert_int_equal(step(id, RETAIN_NONE, 0, 2, "0.1 1.1 "), 2);
    assert_int_equal(store_attempt_get(store, id, 1, 1, &attempt, &err), 1);
    assert_int_equal(attempt.released_ms, 9000);
    assert_int_equal(store_attempt_get(store, id, 2, 1, &attempt, &err), 1);
    assert_int_equal(attempt.released_ms, 0);
    assert_int_equal(store_sweep_find(store, RETAIN_NONE, INT64_MAX, &ensemble, &from, &err), 1);
    assert_int_equal(from, 0); /* it was not noted to be further */
    assert_int_equal(step(id, RETAIN_NONE, 0, 2, "0.1 1.1 "), 2);
    assert_int_equal(store_sweep_advance(store, RETAIN_NONE, id, 2, &err), 0);
    assert_int_equal(store_sweep_find(store, RETAIN_NONE, INT64_MAX, &ensemble, &from, &err), 1);
    assert_int_equal(from, 2);
    /* and the job's own files, with the last of its attempts */
    assert_int_equal(step(id, RETAIN_NONE, 2, 2, "2.1j 3.1j "), -1);
    assert_int_equal(store_sweep_advance(store, RETAIN_NONE, id, -1, &err), 0);
    assert_int_equal(store_sweep_find(store, RETAIN_NONE, INT64_MAX, &ensemble, &from, &err), 0);
}

/* Where the setting was another one, what it kept of the first members has to go, too. */
static void another_setting_begins_anew(void **state)
{
    int64_t id = ended_ensemble(), ensemble, from;
    struct error err;

    assert_int_equal(step(id, RETAIN_FAILED, 0, 3, "0.1 "), 3);
    assert_int_equal(store_sweep_advance(store, RETAIN_FAILED, id, 3, &err), 0);
    assert_int_equal(store_sweep_restart(store, &err), 0);
    assert_int_equal(store_sweep_find(store, RETAIN_NONE, INT64_MAX, &ensemble, &from, &err), 1);
    assert_int_equal(from, 0);
    assert_int_equal(step(id, RETAIN_NONE, 0, 9, "0.1j 1.1j 2.1j 3.1j "), -1);
}

/* A resubmission makes output that is kept until it is over again; a sweep that was under way is none any more. */
static void an_ensemble_that_goes_on_is_swept_again(void **state)
{
    int64_t id = ended_ensemble(), ensemble, from;
    struct ensemble_row row;
    struct error err;

    assert_int_equal(step(id, RETAIN_NONE, 0, 2, "0.1 1.1 "), 2);
    assert_int_equal(store_sweep_advance(store, RETAIN_NONE, id, 2, &err), 0);
    assert_int_equal(store_ensemble_get(store, id, &row, &err), 1);
    row.state = ENSEMBLE_RUNNING;
    row.ended_ms = 0;
    assert_int_equal(store_ensemble_update(store, &row, &err), 0);
    assert_int_equal(store_sweep_advance(store, RETAIN_NONE, id, 2, &err), 0); /* of a step that was under way */
    assert_int_equal(store_sweep_advance(store, RETAIN_NONE, id, -1, &err), 0);
    assert_int_equal(store_sweep_advance(store, RETAIN_NONE, id, 2, &err), 0);
    assert_int_equal(store_sweep_find(store, RETAIN_NONE, INT64_MAX, &ensemble, &from, &err), 0);
    row.state = ENSEMBLE_COMPLETE;
    row.ended_ms = ENDED_MS + 10;
    assert_int_equal(store_ensemble_update(store, &row, &err), 0);
    assert_int_equal(store_sweep_find(store, RETAIN_NONE, ENDED_MS + 10, &ensemble, &from, &err), 0);
    assert_int_equal(store_sweep_find(store, RETAIN_NONE, ENDED_MS + 11, &ensemble, &from, &err), 1);
    assert_int_equal(from, 0);
}

static void the_one_that_ended_first_comes_first(void **state)
{
    int64_t first = ended_ensemble(), second = ended_ensemble(), ensemble, from;
    struct ensemble_row row;
    struct error err;

    assert_int_equal(store_ensemble_get(store, first, &row, &err), 1);
    row.ended_ms = ENDED_MS + 1;
    assert_int_equal(store_ensemble_update(store, &row, &err), 0);
    assert_int_equal(store_sweep_find(store, RETAIN_NONE, INT64_MAX, &ensemble, &from, &err), 1);
    assert_int_equal(ensemble, second);
}

static int note_id(void *arg, const struct event_row *row)
{
    char *ids = arg;

    snprintf(ids + strlen(ids), 64 - strlen(ids), "%lld ", (long long)row->id);
    return 0;
}

/* Ids leave no gap, also where the clock was set back in between: what lies before an old event goes with it. */
static void events_go_from_the_beginning(void **state)
{
    static const int64_t times[] = {10, 20, 90, 30, 95};
    struct event_filter all = {0};
    char ids[64] = "";
    struct error err;
    int64_t n;

    for (size_t i = 0; i < 5; i++)
        assert_int_equal(store_event_put(store, times[i], "x", 1, -1, NULL, &err), 0);
    assert_int_equal(store_commit(store, &err), 0);
    assert_int_equal(store_event_prune(store, 25, 100, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_int_equal(store_event_prune(store, 50, 100, &n, &err), 0);
    assert_int_equal(store_event_each(store, 0, 100, &all, 100, note_id, ids, &err), 0);
    assert_string_equal(ids, "5 ");
}

/* A client that asks for what came after the last one that it was told of is told of all that comes. */
static void ids_of_events_are_never_given_twice(void **state)
{
    struct error err;
    int64_t n;

    for (int i = 0; i < 3; i++)
        assert_int_equal(store_event_put(store, 10, "x", 1, -1, NULL, &err), 0);
    assert_int_equal(store_commit(store, &err), 0);
    assert_int_equal(store_event_prune(store, 50, 100, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_int_equal(store_commit(store, &err), 0);
    store_close(store);
    assert_int_equal(store_open(&store, dir, &err), 0);
    assert_int_equal(store_event_newest(store), 3);
    assert_int_equal(store_event_put(store, 60, "x", 1, -1, NULL, &err), 0);
    assert_int_equal(store_commit(store, &err), 0);
    assert_int_equal(store_event_newest(store), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(output_stays_while_it_is_written, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_sweep_goes_on_where_it_was, open_store, close_store),
        cmocka_unit_test_setup_teardown(another_setting_begins_anew, open_store, close_store),
        cmocka_unit_test_setup_teardown(an_ensemble_that_goes_on_is_swept_again, open_store, close_store),
        cmocka_unit_test_setup_teardown(the_one_that_ended_first_comes_first, open_store, close_store),
        cmocka_unit_test_setup_teardown(events_go_from_the_beginning, open_store, close_store),
        cmocka_unit_test_setup_teardown(ids_of_events_are_never_given_twice, open_store, close_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
