/* The order in which suggested members go, and what follows from changes of many members at once. */
#include "daemon/store/cancellation.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/family.h"
#include "daemon/store/rung.h"
#include "daemon/store/suggestion.h"
#include "tests/unit/open_store.h"

#include <math.h>

static void put_member(int64_t ensemble, int64_t index, enum member_state state)
{
    must(store_member_put(store, &(struct member_row){.ensemble = ensemble, .index = index, .state = state}, &err));
}

static int note_member(void *arg, const struct member_row *row)
{
    note("%lld ", (long long)row->index);
    return 0;
}

static int note_result(void *arg, const struct result_row *row)
{
    note("%lld: %lld.%lld %s, ", (long long)row->number, (long long)row->member.ensemble, (long long)row->member.index,
         member_state_name(row->member.state));
    return 0;
}

static struct ensemble_row suggest(void)
{
    static const struct suggestion list[] = {
        {0, "first", "{\"a\":1}", 0}, {1, NULL, "{\"a\":2}", 5}, {2, "third", "{\"a\":3}", -1}};
    struct ensemble_row row = {.name = "n", .adapter = "local", .stream_key = "0", .intake = INTAKE_OPEN, .width = 1, .created_ms = 1};

    must(store_ensemble_insert(store, &row, "{}", &err));
    must(store_suggestion_add(store, &row, list, 3, &err));
    return row;
}

/* Whatever a member has been through, it waits by its priority again as soon as it may go. */
static void a_priority_outlives_attempts_and_ensembles(void **state)
{
    struct ensemble_row row = suggest(), next = {.root = row.id, .parent = row.id, .count = 3, .width = 1, .intake = INTAKE_CLOSED};
    struct member_row member = {.ensemble = row.id, .index = 1, .attempts = 1, .not_before_ms = 90000000};
    int64_t n;

    must(store_member_change(store, &member, &err));
    must(store_suggestion_line_up(store, row.id, 89999999, &err)); /* it is not its time yet */
    must(store_member_each_due(store, row.id, 89999999, 9, note_member, NULL, &err));
    is_listed("0 2 ");
    must(store_suggestion_line_up(store, row.id, 90000000, &err));
    must(store_member_each_due(store, row.id, 90000000, 9, note_member, NULL, &err));
    is_listed("1 0 2 ");
    member = (struct member_row){.ensemble = row.id, .index = 2, .rung = 2}; /* whoever was promoted goes first */
    must(store_member_change(store, &member, &err));
    must(store_member_each_due(store, row.id, 90000000, 9, note_member, NULL, &err));
    is_listed("2 1 0 ");
    for (int64_t i = 0; i < 3; i++)
        put_member(row.id, i, MEMBER_FAILED);
    must(store_member_reset(store, row.id, MEMBER_FAILED, 0, 2, false, &err));
    must(store_suggestion_line_up(store, row.id, 90000000, &err));
    must(store_member_each_due(store, row.id, 90000000, 9, note_member, NULL, &err));
    is_listed("1 0 2 ");
    for (int64_t i = 0; i < 3; i++)
        put_member(row.id, i, MEMBER_FAILED);
    must(store_ensemble_insert(store, &next, "{}", &err));
    must(store_handover_add(store, &next, MEMBER_FAILED, &err));
    must(store_handover_take(store, next.id, 9, &n, NULL, &err));
    must(store_suggestion_line_up(store, next.id, 90000000, &err));
    must(store_member_each_due(store, next.id, 90000000, 9, note_member, NULL, &err));
    is_listed("1 0 2 ");
}

static struct arrival_row arrive(int64_t ensemble, int64_t index, int64_t rung, double value)
{
    struct arrival_row row = {.ensemble = ensemble, .rung = rung, .index = index, .attempt = 10 + rung, .step = 100 * rung, .value = value,
                              .loss = isfinite(value) ? -value : INFINITY};

    assert_int_equal(store_arrival_add(store, &row, 2, &err), 1);
    return row;
}

static int note_arrival(void *arg, const struct arrival_row *row)
{
    note("%lld: %lld@%lld by %lld; ", (long long)row->number, (long long)row->index, (long long)row->rung,
         (long long)row->promoted);
    return 0;
}

/* What follows from a change of one member follows from a change of many, in the order of their indices. */
static void results_and_rungs_follow_changes_of_many(void **state)
{
    struct ensemble_row row = suggest();
    int64_t id = add_ensemble(9);

    put_member(row.id, 0, MEMBER_FAILED);
    must(store_member_cancel(store, row.id, 0, 9, &err));
    must(store_result_each(store, row.id, 0, 9, note_result, NULL, &err));
    is_listed("1: 1.0 failed, 2: 1.1 cancelled, 3: 1.2 cancelled, ");
    must(store_cancellation_put(store, row.id, 0, 1, &err));
    must(store_member_reset(store, row.id, MEMBER_FAILED, 0, 9, false, &err));
    must(store_result_each(store, row.id, 1, 9, note_result, NULL, &err));
    is_listed("2: 1.1 cancelled, 3: 1.2 cancelled, 4: 1.0 cancelled, ");
    for (int64_t i = 0; i < 3; i++) {
        arrive(id, i, 1, 3);
        put_member(id, i, i == 2 ? MEMBER_SUCCEEDED : MEMBER_STOPPED);
    }
    must(store_cancellation_put(store, id, 1, 1, &err));
    must(store_member_reset(store, id, MEMBER_STOPPED, 0, 9, false, &err));
    must(store_member_reset(store, id, MEMBER_SUCCEEDED, 0, 9, false, &err));
    must(store_arrival_each(store, id, 0, 9, note_arrival, NULL, &err));
    is_listed("1: 0@1 by -1; 2: 1@1 by -2; 3: 2@1 by 0; ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_priority_outlives_attempts_and_ensembles, open_store, close_store),
        cmocka_unit_test_setup_teardown(results_and_rungs_follow_changes_of_many, open_store, close_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
