/* Sorted lists of ensembles: in order, page by page, nothing twice and nothing left out, without a look at all. */
#include "daemon/store/ensemble_order.h"
#include "daemon/store/internal.h"
#include "daemon/store/training.h"
#include "tests/unit/open_store.h"

#include <math.h>
#include <stdio.h>

static struct ensemble_filter filter;
static struct ensemble_place last;
static int pages;

static int note_ensemble(void *arg, const struct ensemble_row *row, const struct ensemble_place *place)
{
    struct ensemble_row known;

    must(store_ensemble_get(store, row->id, &known, &err));
    assert_true(row->created_ms == known.created_ms && row->ended_ms == known.ended_ms && row->root == known.root);
    assert_true(row->parent == known.parent && row->after == known.after && row->intake == known.intake);
    assert_true(row->state == known.state && row->count == known.count && row->width == known.width);
    note("%lld ", (long long)row->id);
    last = *place;
    ++*(int *)arg;
    return 0;
}

/* Lists all that pass the filter, in pages of this size. */
static void list(enum ensemble_key key, bool descending, const char *metric, int size)
{
    struct ensemble_order order = {key, descending, metric};
    int n = size;

    last = (struct ensemble_place){0};
    for (pages = 0; n == size; pages++) {
        struct ensemble_place after = last;

        n = 0;
        must(store_ensemble_each_sorted(store, &order, &filter, &after, size, note_ensemble, &n, &err));
    }
}

/* The list is the same, whatever the size of its pages. */
static void lists(enum ensemble_key key, bool descending, const char *metric, const char *expected)
{
    for (int size = 1; size <= 9; size++) {
        list(key, descending, metric, size);
        is_listed(expected);
    }
}

static void add_named(const char *name, enum ensemble_state state)
{
    struct ensemble_row row = {.adapter = "local", .stream_key = "0", .count = 8, .width = 1, .created_ms = 1};

    snprintf(row.name, sizeof row.name, "%s", name);
    must(store_ensemble_insert(store, &row, "{}", &err));
    row.state = state;
    row.ended_ms = state == ENSEMBLE_RUNNING || state == ENSEMBLE_PAUSED ? 0 : 9;
    must(store_ensemble_update(store, &row, &err));
}

static int add_six(void **state)
{
    filter = (struct ensemble_filter){0};
    if (open_store(state) < 0)
        return -1;
    add_named("beta", ENSEMBLE_RUNNING);
    add_named("Alpha_1", ENSEMBLE_COMPLETE);
    add_named("alpha%2", ENSEMBLE_PAUSED);
    add_named("\xc3\xa4lpha", ENSEMBLE_COMPLETE);
    add_named("beta", ENSEMBLE_FAILED);
    add_named("BETA\\", ENSEMBLE_CANCELLED);
    must(store_exec(store, &err, "UPDATE ensemble SET after = 5 WHERE id = 3", ""));
    return 0;
}

static void ensembles_are_sorted_by_what_they_are(void **state)
{
    lists(ENSEMBLE_BY_CREATED, false, NULL, "1 2 3 4 5 6 ");
    lists(ENSEMBLE_BY_CREATED, true, NULL, "6 5 4 3 2 1 ");
    lists(ENSEMBLE_BY_NAME, false, NULL, "3 2 1 5 6 4 ");
    lists(ENSEMBLE_BY_NAME, true, NULL, "4 6 5 1 2 3 ");
    lists(ENSEMBLE_BY_STATE, false, NULL, "6 2 4 5 3 1 ");
    lists(ENSEMBLE_BY_STATE, true, NULL, "1 3 5 4 2 6 ");
}

static void ensembles_are_found_by_a_part_of_the_name(void **state)
{
    static const struct {
        const char *name, *found;
    } all[] = {{"BETA", "1 5 6 "}, {"a%", "3 "}, {"a_", "2 "}, {"\\", "6 "}, {"\xc3\xa4", "4 "}, {"%", "3 "}, {"nope", ""}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        filter.name = all[i].name;
        lists(ENSEMBLE_BY_CREATED, false, NULL, all[i].found);
    }
    filter.name = "LPHA";
    lists(ENSEMBLE_BY_NAME, true, NULL, "4 2 3 ");
    filter.states = 1 << ENSEMBLE_COMPLETE | 1 << ENSEMBLE_RUNNING;
    lists(ENSEMBLE_BY_PROGRESS, true, NULL, "4 2 ");
    filter.name = NULL;
    lists(ENSEMBLE_BY_NAME, false, NULL, "2 1 4 ");
}

static void is_final(int64_t ensemble, int64_t index, enum member_state state)
{
    must(store_member_put(store, &(struct member_row){.ensemble = ensemble, .index = index, .state = state}, &err));
}

static void ensembles_are_sorted_by_how_far_they_are(void **state)
{
    is_final(2, 0, MEMBER_FAILED);
    is_final(5, 0, MEMBER_SUCCEEDED);
    is_final(5, 1, MEMBER_UNFINISHED);
    is_final(3, 0, MEMBER_RUNNING);
    is_final(3, 1, MEMBER_SUBMITTED);
    lists(ENSEMBLE_BY_PROGRESS, true, NULL, "5 2 6 4 3 1 ");
    lists(ENSEMBLE_BY_PROGRESS, false, NULL, "1 3 4 6 2 5 ");
    is_final(5, 0, MEMBER_PENDING); /* it is resubmitted */
    is_final(5, 1, MEMBER_RUNNING);
    must(store_ensemble_cancel_untried(store, 4, &err));
    lists(ENSEMBLE_BY_PROGRESS, true, NULL, "4 2 6 5 3 1 ");
}

static void put(int64_t ensemble, const char *name, int64_t step, double value)
{
    struct training_row training = {.ensemble = ensemble, .adapter = "local", .ranks = 1, .generation = 1, .created_ms = 1};
    struct metric_point point = {.step = step, .time_ms = 1, .value = value};

    if (store_training_of(store, ensemble, &training, &err) != 1)
        must(store_training_insert(store, &training, &err));
    must(store_metric_put(store, training.id, name, &point, &err));
}

static void ensembles_are_sorted_by_a_metric(void **state)
{
    put(5, "loss", 1, 3);
    put(5, "loss", 2, 9);
    put(1, "loss", 1, 4);
    put(1, "loss", 2, 5);
    put(3, "loss", 1, 3);
    put(3, "loss", 2, NAN);
    put(4, "loss", 1, INFINITY);
    put(2, "other", 1, 0);
    lists(ENSEMBLE_BY_LAST, false, "loss", "1 5 6 4 3 2 ");
    lists(ENSEMBLE_BY_LAST, true, "loss", "5 1 6 4 3 2 ");
    lists(ENSEMBLE_BY_MIN, false, "loss", "5 3 1 6 4 2 "); /* where they are alike, by the age of the trainings */
    lists(ENSEMBLE_BY_MAX, true, "loss", "5 1 3 6 4 2 ");
    lists(ENSEMBLE_BY_MAX, true, "none", "6 5 4 3 2 1 ");
    filter.states = 1 << ENSEMBLE_COMPLETE | 1 << ENSEMBLE_RUNNING | 1 << ENSEMBLE_PAUSED;
    lists(ENSEMBLE_BY_MIN, true, "loss", "1 3 4 2 ");
    filter.name = "alpha";
    lists(ENSEMBLE_BY_MIN, true, "loss", "3 2 ");
}

static void a_family_is_sorted_too(void **state)
{
    must(store_exec(store, &err,
                    "INSERT INTO ensemble (name, state, adapter, spec, stream_key, count, width, created, root, parent) "
                    "VALUES ('beta', 'running', 'local', '{}', '', 9, 1, 1, 2, 2)", ""));
    filter.root = 2;
    lists(ENSEMBLE_BY_NAME, true, NULL, "7 2 ");
    put(2, "loss", 1, 1);
    lists(ENSEMBLE_BY_MIN, true, "loss", "2 7 ");
}

static int steps;

static int count_step(void *arg)
{
    steps++;
    return 0;
}

/* The indices have the orders: a page of a list costs the same, however many ensembles there are. */
static void a_page_costs_what_it_shows(void **state)
{
    static const enum ensemble_key all[] = {ENSEMBLE_BY_CREATED,  ENSEMBLE_BY_NAME, ENSEMBLE_BY_STATE,
                                            ENSEMBLE_BY_PROGRESS, ENSEMBLE_BY_LAST, ENSEMBLE_BY_MIN,
                                            ENSEMBLE_BY_MAX};

    must(store_exec(store, &err, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
                    "INSERT INTO ensemble (name, state, adapter, spec, stream_key, count, width, created, ended) "
                    "SELECT 'e' || i, 'complete', 'local', '{}', '', 9, 1, 1, 9 FROM n", ""));
    must(store_exec(store, &err, "INSERT INTO training (ensemble, adapter, state, ranks, created, ended) "
                    "SELECT id, 'local', 'done', 1, 1, 9 FROM ensemble", ""));
    must(store_exec(store, &err, "INSERT INTO metric (training, name, step, rank, time, value) "
                    "SELECT id, 'loss', 1, 0, 1, id % 100 FROM training", ""));
    sqlite3_progress_handler(store->db, 1, count_step, NULL);
    for (size_t i = 0; i < 2 * sizeof all / sizeof *all; i++) {
        const struct ensemble_order order = {all[i / 2], i % 2 == 1, "loss"};
        const char *const names[] = {"e10000", "complete"};
        struct ensemble_place after = {10000, true, order.key == ENSEMBLE_BY_CREATED ? 10000 : order.key == ENSEMBLE_BY_PROGRESS ? 0 : 50, ""};
        int n = 0;

        snprintf(after.text, sizeof after.text, "%s", names[order.key == ENSEMBLE_BY_STATE]);
        steps = 0;
        must(store_ensemble_each_sorted(store, &order, &filter, &after, 3, note_ensemble, &n, &err));
        assert_int_equal(n, 3);
        if (steps > 1000)
            fail_msg("the list by key %d, %s, took %d steps", order.key, order.descending ? "descending" : "ascending",
                     steps);
    }
    sqlite3_progress_handler(store->db, 0, NULL, NULL);
    note("%s", "");
}

#define WITH_SIX(test) cmocka_unit_test_setup_teardown(test, add_six, close_store)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SIX(ensembles_are_sorted_by_what_they_are),   WITH_SIX(ensembles_are_found_by_a_part_of_the_name),
        WITH_SIX(ensembles_are_sorted_by_how_far_they_are), WITH_SIX(ensembles_are_sorted_by_a_metric),
        WITH_SIX(a_family_is_sorted_too),                  WITH_SIX(a_page_costs_what_it_shows),
    };

    test_limit(12);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
