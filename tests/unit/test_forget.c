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
    assert_int_equal(store_job_insert(store, &job, &err), 0);
    for (int64_t i = 0; i < 4; i++) {
        struct member_row member = {.ensemble = row.id, .index = i, .state = states[i], .attempts = 1};
        struct attempt_row attempt = {.ensemble = row.id, .index = i, .number = 1, .job = job.id, .submitted_ms = 1,
                                      .outcome = i == 0 ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED, .ended_ms = 2};

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

static void output_goes_by_the_setting(void **state)
{
    int64_t ensemble, from;
    struct error err;

    ended_ensemble();
    assert_int_equal(store_sweep_find(store, RETAIN_ALL, INT64_MAX, &ensemble, &from, &err), 0);
    assert_int_equal(released(RETAIN_FAILED), 1); /* not of those that are unfinished, or cancelled, either */
    assert_int_equal(store_sweep_find(store, RETAIN_FAILED, INT64_MAX, &ensemble, &from, &err), 0);
    assert_int_equal(released(RETAIN_NONE), 1 + 2 + 4 + 8);
}

static void output_goes_when_its_time_has_come(void **state)
{
    int64_t id = ended_ensemble(), ensemble, from;
    struct error err;

    assert_int_equal(store_sweep_find(store, RETAIN_NONE, ENDED_MS, &ensemble, &from, &err), 0);
    assert_int_equal(store_sweep_find(store, RETAIN_NONE, ENDED_MS + 1, &ensemble, &from, &err), 1);
    assert_int_equal(ensemble, id);
}

/* An ensemble that was cancelled is over before its last attempts are. */
static void output_stays_while_it_is_written(void **state)
{
    int64_t id = ended_ensemble(), ensemble, from;
    struct attempt_row open = {.ensemble = id, .index = 3, .number = 2, .job = 1, .submitted_ms = 3};
    struct error err;

    assert_int_equal(store_attempt_insert(store, &open, &err), 0);
    assert_int_equal(store_sweep_find(store, RETAIN_NONE, INT64_MAX, &ensemble, &from, &err), 0);
    open.outcome = ATTEMPT_CANCELLED;
    open.ended_ms = ENDED_MS + 100;
    assert_int_equal(store_attempt_update(store, &open, &err), 0);
    assert_int_equal(released(RETAIN_NONE), 1 + 2 + 4 + 8);
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
        cmocka_unit_test_setup_teardown(output_goes_by_the_setting, open_store, close_store),
        cmocka_unit_test_setup_teardown(output_goes_when_its_time_has_come, open_store, close_store),
        cmocka_unit_test_setup_teardown(output_stays_while_it_is_written, open_store, close_store),
        cmocka_unit_test_setup_teardown(events_go_from_the_beginning, open_store, close_store),
        cmocka_unit_test_setup_teardown(ids_of_events_are_never_given_twice, open_store, close_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
