/* Lists of members: each way to sort and to choose them, page by page; and states, which are chosen alike. */
#include "api/handlers.h"
#include "api/member_filter.h"
#include "common/log.h"
#include "daemon/store/cause.h"
#include "daemon/store/member.h"
#include "daemon/store/series.h"
#include "tests/unit/failing_store.h"
#include "tests/unit/fake_engine.h"
#include "tests/unit/fake_request.h"
#include "tests/unit/open_store.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Seven members, of which the last two have no row. Where it is 0, there is none; the metric of member 4 is NaN. */
static const struct {
    enum member_state state;
    int64_t attempts, took_ms, cpu_ms, memory;
    double metric;
    const char *host;
} members[] = {
    {MEMBER_FAILED, 3, 40000, 500, 900, 2.5, "h1"}, {MEMBER_SUCCEEDED, 1, 10000, 700, 800, -1, "h2"},
    {MEMBER_RUNNING, 2, 0, 0, 0, 9, "h1"}, {MEMBER_SUCCEEDED, 1, 20000, 600, 1000, 0.5, "h2"}, {MEMBER_FAILED, 4, 30000, 800, 700, NAN, "h3"},
};

static void add(int64_t index)
{
    struct series_row series;
    struct series_point point = series_point_of(1, 1000, 1, members[index].metric, 0);
    struct attempt_row row;
    bool ended = members[index].took_ms > 0;

    for (int64_t number = 1; number <= members[index].attempts; number++) {
        row = add_attempt(1, 1, index, number);
        row.end.outcome = !ended && number == members[index].attempts ? ATTEMPT_OPEN
                      : members[index].state == MEMBER_SUCCEEDED  ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED;
        row.end.started_ms = 1000;
        row.end.ended_ms = row.end.outcome != ATTEMPT_OPEN ? 1000 + members[index].took_ms : 0;
        row.end.measured = ended;
        row.end.cpu_ms = members[index].cpu_ms;
        row.end.memory_peak = members[index].memory;
        snprintf(row.end.host, sizeof row.end.host, "%s", members[index].host);
        snprintf(row.end.reason, sizeof row.end.reason, "%s", index == 4 ? "broken" : "other");
        must(store_attempt_update(store, &row, &err));
    }
    if (row.end.outcome == ATTEMPT_FAILED)
        must(store_cause_count(store, &row, &err));
    must(store_member_put(store, &(struct member_row){.ensemble = 1, .index = index, .state = members[index].state,
                            .attempts = members[index].attempts}, &err));
    must(store_series_open(store, 1, index, "loss", &series, &err));
    must(store_series_add(store, &series, &point, 100, &err));
    must(store_series_save(store, &series, &err));
}

static int set_up(void **state)
{
    if (open_store(state) != 0)
        return -1;
    fake_config = (struct api_config){.store = store};
    fake_engine_spec("{\"name\": \"x\", \"adapter\": \"local\", \"members\": {\"command\": [\"true\"],"
                     " \"parameters\": {\"grid\": {\"a\": [10, 20, 30, 40, 50, 60, 70]}}}}");
    add_ensemble(7);
    add_job(1, "local");
    for (int64_t i = 0; i < 5; i++)
        add(i);
    if (store_exec(store, &err, "UPDATE ensemble SET next_index = 5", "") < 0)
        return -1;
    return 0;
}

static int tear_down(void **state)
{
    fake_engine_spec(NULL);
    must(store_commit(store, &err));
    return close_store(state);
}

#define MANY (3 * MEMBER_FILTER_PIECE + 10)

/* The indices on all pages of so many members. */
static int all_of(const char *query, int64_t *indices, int *pages)
{
    char cursor[64] = "", whole[256];
    int n = 0;

    for (*pages = 0; *pages == 0 || cursor[0] != '\0'; ++*pages) {
        const json_t *page, *item;
        size_t i;

        snprintf(whole, sizeof whole, "%s%s%s", query, cursor[0] ? "&cursor=" : "", cursor);
        page = get(members_get, 2, whole);
        json_array_foreach (json_object_get(page, "members"), i, item)
            indices[n++] = json_integer_value(json_object_get(item, "index"));
        snprintf(cursor, sizeof cursor, "%s", json_string_value(json_object_get(page, "next")) ?: "");
        assert_true(*pages < 20);
    }
    return n;
}

/* Those of a search are looked at a piece after the other; those that were never tried come last in their order. */
static void more_than_are_looked_at_in_a_turn(void **state)
{
    static int64_t indices[MANY];
    char spec[256];
    int pages;

    snprintf(spec, sizeof spec, "{\"name\": \"x\", \"adapter\": \"local\", \"members\": {\"command\": [\"true\"],"
             " \"parameters\": {\"method\": \"monte-carlo\", \"count\": %d, \"seed\": 1, \"space\": {\"a\": [0, 1]}}}}", MANY);
    fake_engine_spec(spec);
    assert_int_equal(add_ensemble(MANY), 2);
    for (int i = 0; i < 4; i++) {
        static const int64_t places[] = {5, MEMBER_FILTER_PIECE - 1, MEMBER_FILTER_PIECE, 2 * MEMBER_FILTER_PIECE};
        struct attempt_row row = add_attempt(1, 2, places[i], 1);

        row.end.outcome = ATTEMPT_FAILED;
        row.end.started_ms = 1000;
        row.end.ended_ms = 5000 - i;
        snprintf(row.end.host, sizeof row.end.host, i == 3 ? "h9" : "h8");
        must(store_attempt_update(store, &row, &err));
        must(store_member_put(store, &(struct member_row){.ensemble = 2, .index = places[i], .state = MEMBER_FAILED, .attempts = 1}, &err));
    }
    must(store_exec(store, &err, "UPDATE ensemble SET next_index = ?1 WHERE id = 2", "i",
                    (int64_t)2 * MEMBER_FILTER_PIECE + 1));
    assert_int_equal(all_of("host=h8", indices, &pages), 3);
    assert_true(indices[0] == 5 && indices[1] == MEMBER_FILTER_PIECE - 1 && indices[2] == MEMBER_FILTER_PIECE &&
                pages == 1);
    assert_int_equal(all_of("host=h8&limit=2", indices, &pages), 3);
    assert_true(indices[2] == MEMBER_FILTER_PIECE && pages == 2);
    assert_int_equal(all_of("host=h9&limit=1", indices, &pages), 1);
    assert_int_equal(indices[0], 2 * MEMBER_FILTER_PIECE);
    assert_int_equal(all_of("from=1020&limit=1000", indices, &pages), MANY - 1020);
    for (int i = 0; i < MANY - 1020; i++)
        assert_int_equal(indices[i], 1020 + i);
    assert_int_equal(all_of("from=1023&to=2047&sort=took&limit=500", indices, &pages), 1025);
    assert_true(indices[0] == 1024 && indices[1] == 1023 && indices[2] == 1025 && indices[1024] == 2047);
    assert_int_equal(all_of("sort=took&limit=1000", indices, &pages), MANY);
    assert_int_equal(pages, 4);
    assert_true(indices[0] == 2 * MEMBER_FILTER_PIECE && indices[1] == MEMBER_FILTER_PIECE && indices[3] == 5 &&
                indices[4] == 0);
    assert_true(indices[9] == 6 && indices[MANY - 1] == MANY - 1);
    assert_int_equal(all_of("sort=attempts&limit=1000", indices, &pages), MANY);
    assert_true(indices[0] == 0 && indices[MANY - 1] == 2 * MEMBER_FILTER_PIECE);
    assert_int_equal(all_of("limit=1000&state=failed", indices, &pages), 4);
    /* by the rows, and those behind them */
    assert_int_equal(all_of("limit=300", indices, &pages), MANY - 2 * MEMBER_FILTER_PIECE + 3);
    assert_int_equal(pages, 4);
    for (int i = 4; i < MANY - 2 * MEMBER_FILTER_PIECE + 3; i++)
        assert_int_equal(indices[i], 2 * MEMBER_FILTER_PIECE + i - 3);
    is_told_that_the_spec_is_lost(members_get, &(struct asked){.ids = {2}, .query = "where={\"a\": [0, 0.5]}"});
    is_told_that_the_spec_is_lost(members_get, &(struct asked){.ids = {2}, .query = "state=failed"});
    is_told_that_the_store_fails(members_get, &(struct asked){.ids = {2}, .query = "host=h8"});
    is_told_that_the_store_fails(members_get, &(struct asked){.ids = {2}, .query = "sort=took&limit=2"});
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_STORE(more_than_are_looked_at_in_a_turn)};

    log_init("members", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
