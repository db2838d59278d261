/* Families in the store: who has a member now, how they are counted, and what the schema itself refuses. */
#include "daemon/store/attempt.h"
#include "daemon/store/bulk.h"
#include "daemon/store/family.h"
#include "daemon/store/internal.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char dir[64];

static int new_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char rm[128];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static struct store *must_open(void)
{
    struct store *store = NULL;
    struct error err;

    if (store_open(&store, dir, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}

/* One of `count` members that is complete, of which every third is unfinished, the next failed, the others
 * succeeded. */
static struct ensemble_row add_root(struct store *store, int64_t count)
{
    static const enum member_state states[] = {MEMBER_UNFINISHED, MEMBER_FAILED, MEMBER_SUCCEEDED};
    struct ensemble_row row = {.name = "x", .adapter = "local", .stream_key = "0", .count = count, .width = 1, .created_ms = 1};
    struct error err;

    assert_int_equal(store_ensemble_insert(store, &row, "{}", &err), 0);
    for (int64_t i = 0; i < count; i++) {
        struct member_row member = {.ensemble = row.id, .index = i, .state = states[i % 3], .attempts = 2, .failures = 1};

        assert_int_equal(store_member_put(store, &member, &err), 0);
    }
    row.next_index = count;
    row.state = ENSEMBLE_COMPLETE;
    row.ended_ms = 2;
    assert_int_equal(store_ensemble_update(store, &row, &err), 0);
    return row;
}

static struct ensemble_row add_follow_up(struct store *store, const struct ensemble_row *parent, int64_t count)
{
    struct ensemble_row row = {.name = "x", .adapter = "local", .stream_key = "0", .count = count, .width = 1,
                               .root = ensemble_root(parent), .parent = parent->id, .created_ms = 3};
    struct error err;

    assert_int_equal(store_ensemble_insert(store, &row, "{}", &err), 0);
    return row;
}

/* Slices of `limit` until it has them all; how many slices. */
static int take_all(struct store *store, struct ensemble_row *row, int limit)
{
    struct error err;
    int64_t n;
    int rc, slices = 0;

    do {
        rc = store_handover_take(store, row->id, limit, &n, NULL, &err);
        assert_true(rc >= 0);
        row->next_index += n;
        slices++;
        assert_int_equal(store_ensemble_update(store, row, &err), 0);
        assert_int_equal(store_commit(store, &err), 0);
    } while (rc == 1);
    return slices;
}

static void end_all(struct store *store, struct ensemble_row *row, enum member_state state)
{
    struct error err;
    struct member_row member;

    for (int64_t i = 0; i < 3000; i++) {
        if (store_member_get(store, row->id, i, &member, &err) != 1)
            continue;
        member.state = state;
        assert_int_equal(store_member_change(store, &member, &err), 0);
    }
    row->state = ENSEMBLE_COMPLETE;
    row->ended_ms = 9;
    assert_int_equal(store_ensemble_update(store, row, &err), 0);
}

static void family_is(struct store *store, int64_t root, int64_t pending, int64_t succeeded, int64_t failed,
                      int64_t unfinished)
{
    int64_t n[MEMBER_STATE_COUNT];
    struct error err;

    assert_int_equal(store_family_tally(store, root, n, &err), 0);
    assert_int_equal(n[MEMBER_PENDING], pending);
    assert_int_equal(n[MEMBER_SUCCEEDED], succeeded);
    assert_int_equal(n[MEMBER_FAILED], failed);
    assert_int_equal(n[MEMBER_UNFINISHED], unfinished);
}

static void count_nothing(sqlite3_context *context, int n, sqlite3_value **values)
{
}

/* As somebody who has no more of the daemon's functions than their names, so that nothing else refuses a change of a
 * state. */
static void pretend_to_count(sqlite3 *db)
{
    sqlite3_create_function(db, "stretto_moved", 3, SQLITE_UTF8, NULL, count_nothing, NULL, NULL);
    sqlite3_create_function(db, "stretto_handed", 2, SQLITE_UTF8, NULL, count_nothing, NULL, NULL);
}

/* Every one of these writes is one that the daemon never makes; the database refuses it, whoever does. */
static void the_schema_refuses_doubles(void **state)
{
    static const char *const wrong[] = {
        "INSERT INTO ensemble (name, state, adapter, spec, stream_key, count, width, created, root, parent) VALUES "
        "('y', 'running', 'local', '{}', '0', 1, 1, 1, 1, 1)", /* a second follow-up of the same ensemble */
        "UPDATE member SET state = 'pending' WHERE ensemble = 1 AND idx = 0",   /* it goes on elsewhere */
        "UPDATE member SET state = 'running' WHERE ensemble = 1 AND idx = 0",
        "UPDATE member SET successor = 3 WHERE ensemble = 1 AND idx = 0",            /* handed on twice */
        "UPDATE member SET successor = NULL WHERE ensemble = 1 AND idx = 0",
        "UPDATE member SET successor = 3 WHERE ensemble = 2 AND idx = 0",            /* while it is pending there */
        "INSERT INTO member (ensemble, idx, state) VALUES (2, 1, 'pending')",   /* which was not handed on */
        "INSERT INTO member (ensemble, idx, state, predecessor) VALUES (2, 1, 'pending', 1)",
        "INSERT INTO member (ensemble, idx, state, predecessor) VALUES (3, 0, 'pending', 1)", /* … to it */
        "UPDATE tally SET handed = n + 1 WHERE ensemble = 1 AND state = 'unfinished'",
        "UPDATE member SET state = 'lost' WHERE ensemble = 2 AND idx = 0",      /* no state of members */
        "INSERT INTO member (ensemble, idx, state) VALUES (1, 9, 'ended')",
    };
    struct store *store = must_open();
    struct ensemble_row root = add_root(store, 9), next = add_follow_up(store, &root, 3), third;
    struct error err;
    char path[80];
    sqlite3 *db;

    assert_int_equal(store_handover_add(store, &next, MEMBER_UNFINISHED, &err), 0);
    assert_int_equal(take_all(store, &next, 100), 1);
    third = add_follow_up(store, &next, 1);
    assert_int_equal(third.id, 3);
    assert_int_equal(store_commit(store, &err), 0);
    store_close(store);
    snprintf(path, sizeof path, "%s/stretto.db", dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    pretend_to_count(db);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (sqlite3_exec(db, wrong[i], NULL, NULL, NULL) != SQLITE_CONSTRAINT)
            fail_msg("not refused: %s", wrong[i]);
    sqlite3_close(db);
}

static int64_t families_unfinished(struct store *store)
{
    struct error err;
    int64_t n = -1;

    assert_int_equal(store_family_unfinished(store, &n, &err), 0);
    return n;
}

/* What the counts for /metrics cost, in steps of SQLite's machine. */
static int count_steps(struct store *store)
{
    int64_t ensembles[ENSEMBLE_STATE_COUNT], members[MEMBER_STATE_COUNT];
    struct error err;
    int steps = 0;

    for (size_t i = 0; i < STORE_STATEMENTS; i++)
        if (store->statements[i].stmt != NULL)
            sqlite3_stmt_status(store->statements[i].stmt, SQLITE_STMTSTATUS_VM_STEP, 1);
    assert_int_equal(store_census_get(store, ensembles, members, &err), 0);
    families_unfinished(store);
    for (size_t i = 0; i < STORE_STATEMENTS; i++)
        if (store->statements[i].stmt != NULL)
            steps += sqlite3_stmt_status(store->statements[i].stmt, SQLITE_STMTSTATUS_VM_STEP, 0);
    return steps;
}

static void counts_cost_nothing_for_what_is_over(void **state)
{
    struct store *store = must_open();
    struct ensemble_row root = add_root(store, 3);
    struct error err;
    int before;

    assert_int_equal(store_commit(store, &err), 0); /* with what was put off */
    before = count_steps(store);
    for (int i = 0; i < 50; i++) {
        struct ensemble_row row = add_follow_up(store, &root, 1);

        row.state = ENSEMBLE_COMPLETE;
        row.ended_ms = 4;
        assert_int_equal(store_ensemble_update(store, &row, &err), 0);
        root = row;
    }
    assert_int_equal(count_steps(store), before);
    store_close(store);
}

/* Which checkpoints count goes with a member, from the ensemble on in which it was told to start afresh; and how often
 * in a row it made no progress, where it goes on from there. */
static void what_is_known_of_a_member_goes_with_it(void **state)
{
    struct store *store = must_open();
    struct ensemble_row root = add_root(store, 6), second, third;
    struct member_row member = {.ensemble = root.id, .state = MEMBER_UNFINISHED, .attempts = 4, .stalls = 2};
    struct error err;

    assert_int_equal(store_member_put(store, &member, &err), 0);
    assert_int_equal(store_member_reset(store, root.id, MEMBER_UNFINISHED, 0, 0, true, &err), 0);
    assert_int_equal(store_member_get(store, root.id, 0, &member, &err), 1);
    assert_int_equal(member.since, 5); /* none of the four attempts before counts */
    assert_int_equal(member.since_in, 0);
    assert_int_equal(member.stalls, 0);
    member.state = MEMBER_UNFINISHED;
    member.attempts = 5;
    member.stalls = 2;
    assert_int_equal(store_member_change(store, &member, &err), 0);
    assert_int_equal(store_member_get(store, root.id, 1, &member, &err), 1);
    member.stalls = 2;
    assert_int_equal(store_member_change(store, &member, &err), 0); /* failed */
    second = add_follow_up(store, &root, 4);
    assert_int_equal(store_handover_add(store, &second, MEMBER_UNFINISHED, &err), 0);
    assert_int_equal(store_handover_add(store, &second, MEMBER_FAILED, &err), 0);
    assert_int_equal(take_all(store, &second, 100), 1);
    assert_int_equal(store_member_get(store, second.id, 0, &member, &err), 1);
    assert_true(member.since == 5 && member.since_in == root.id && member.stalls == 2 && member.attempts == 0);
    assert_int_equal(store_member_get(store, second.id, 1, &member, &err), 1);
    assert_true(member.since == 0 && member.since_in == 0 && member.stalls == 0);

    end_all(store, &second, MEMBER_UNFINISHED);
    third = add_follow_up(store, &second, 4);
    assert_int_equal(store_handover_add(store, &third, MEMBER_UNFINISHED, &err), 0);
    assert_int_equal(take_all(store, &third, 100), 1);
    assert_int_equal(store_member_get(store, third.id, 0, &member, &err), 1);
    assert_true(member.since == 5 && member.since_in == root.id);
    member.state = MEMBER_FAILED;
    member.attempts = 1;
    assert_int_equal(store_member_change(store, &member, &err), 0);
    assert_int_equal(store_member_reset(store, third.id, MEMBER_FAILED, 0, 9, false, &err), 0);
    assert_int_equal(store_member_get(store, third.id, 0, &member, &err), 1);
    assert_true(member.since == 5 && member.since_in == root.id); /* unless told otherwise */
    member.state = MEMBER_FAILED;
    assert_int_equal(store_member_change(store, &member, &err), 0);
    assert_int_equal(store_member_reset(store, third.id, MEMBER_FAILED, 0, 9, true, &err), 0);
    assert_int_equal(store_member_get(store, third.id, 0, &member, &err), 1);
    assert_true(member.since == 2 && member.since_in == 0);
    store_close(store);
}

/* What was handed on is not resubmitted, or handed on once more, where it was. */
static void what_was_handed_on_stays_as_it_was(void **state)
{
    struct store *store = must_open();
    struct ensemble_row root = add_root(store, 9), next = add_follow_up(store, &root, 2);
    struct bulk bulk = {.kind = BULK_RESUBMIT, .ensemble = root.id, .state = MEMBER_UNFINISHED};
    struct member_span span;
    struct error err;

    assert_int_equal(store_handover_add(store, &next, MEMBER_UNFINISHED, &err), 0);
    assert_int_equal(store_handover_take(store, next.id, 2, &next.next_index, NULL, &err), 1);
    assert_int_equal(store_ensemble_update(store, &next, &err), 0);
    assert_int_equal(store_bulk_piece(store, &bulk, 100, &span, &err), 0);
    family_is(store, root.id, 3, 3, 3, 0); /* two are the follow-up's, and one was left */
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_known_of_a_member_goes_with_it, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_was_handed_on_stays_as_it_was, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_schema_refuses_doubles, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(counts_cost_nothing_for_what_is_over, new_dir, remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
