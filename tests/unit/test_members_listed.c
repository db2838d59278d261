/* Lists of members: each way to sort and to choose them, page by page; and states, which are chosen alike. */
#include "api/handlers.h"
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
        row.outcome = !ended && number == members[index].attempts ? ATTEMPT_OPEN
                      : members[index].state == MEMBER_SUCCEEDED  ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED;
        row.started_ms = 1000;
        row.ended_ms = row.outcome != ATTEMPT_OPEN ? 1000 + members[index].took_ms : 0;
        row.measured = ended;
        row.cpu_ms = members[index].cpu_ms;
        row.memory_peak = members[index].memory;
        snprintf(row.host, sizeof row.host, "%s", members[index].host);
        snprintf(row.reason, sizeof row.reason, "%s", index == 4 ? "broken" : "other");
        must(store_attempt_update(store, &row, &err));
    }
    if (row.outcome == ATTEMPT_FAILED)
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

/* Goes through the pages, and compares the indices on them; a page is behind a bar. */
static void are(const char *query, const char *wanted)
{
    char got[128] = "", cursor[64] = "", whole[256];

    for (int pages = 0; pages == 0 || cursor[0] != '\0'; pages++) {
        const json_t *page, *item;
        size_t i;

        snprintf(whole, sizeof whole, "%s%s%s", query, cursor[0] ? "&cursor=" : "", cursor);
        page = get(members_get, 1, whole);
        if (pages > 0)
            strcat(got, "|");
        json_array_foreach (json_object_get(page, "members"), i, item)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%lld", (long long)json_integer_value(json_object_get(item, "index")));
        snprintf(cursor, sizeof cursor, "%s", json_string_value(json_object_get(page, "next")) ?: "");
        assert_true(pages < 20);
    }
    if (strcmp(got, wanted) != 0)
        fail_msg("%s: %s and not %s", query, got, wanted);
    is_told_that_the_store_fails(members_get, &(struct asked){.ids = {1}, .query = query});
}

static void sorted_in_each_way(void **state)
{
    are("limit=3", "012|345|6");
    are("sort=attempts&limit=2", "56|13|20|4");
    are("sort=attempts&order=asc&limit=7", "5613204");
    are("sort=attempts&order=desc&limit=3", "402|135|6");
    are("sort=took&limit=2", "13|40|25|6");
    are("sort=took&order=desc&limit=2", "20|43|15|6");
    are("sort=cpu&limit=3", "031|425|6");
    are("sort=memory&order=desc&limit=3", "301|425|6");
    are("sort=metric:loss&limit=2", "13|02|45|6");
    are("sort=metric:loss&order=desc&limit=2", "20|31|45|6");
    are("sort=min:loss&limit=7", "1302456");
    are("sort=max:loss&order=desc&limit=7", "2031456");
    are("sort=metric:none&limit=4", "0123|456");
    are("sort=took&state=failed&limit=1", "4|0");
    is_refused(members_get, 1, "order=asc", 400, "query_wrong_value");
    is_refused(members_get, 1, "sort=metric:", 400, "query_wrong_value");
    is_refused(members_get, 1, "sort=took&order=up", 400, "query_wrong_value");
    is_refused(members_get, 1, "sort=took&cursor=1:", 400, "query_wrong_value");
    is_refused(members_get, 1, "sort=took&cursor=:1", 400, "query_wrong_value");
    is_refused(members_get, 1, "sort=took&cursor=1:nan", 400, "query_wrong_value");
}

static void chosen_in_each_way(void **state)
{
    are("state=failed", "04");
    are("state=pending&limit=1", "5|6");
    are("state=failed,pending&limit=2", "04|56");
    are("from=2&to=5&limit=2", "23|45");
    are("from=5", "56");
    are("to=0", "0");
    are("from=3&to=3", "3");
    are("host=h1", "02");
    are("host=h2&limit=1", "1|3");
    are("host=none", "");
    are("cause=broken", "4");
    are("where={\"a\": [20, 40]}&limit=2", "12|3");
    are("where={\"a\": 50}", "4");
    are("where={\"a\": [null, 20]}", "01");
    are("where={\"a\": [60, null]}", "56");
    are("where={\"a\": [20, 60]}&state=failed,pending&sort=metric:loss&order=desc", "45");
    are("index=4,0,6", "406");
    is_refused(members_get, 1, "from=3&to=2", 400, "query_wrong_value");
    is_refused(members_get, 1, "where={\"b\": 1}", 400, "query_wrong_value");
    is_refused(members_get, 1, "where={\"a\": null}", 400, "query_wrong_value");
    is_refused(members_get, 1, "where=[1]", 400, "query_wrong_value");
    is_refused(members_get, 1, "index=7", 400, "query_wrong_value");
    is_refused(members_get, 1, "index=", 400, "query_wrong_value");
    is_refused(members_get, 1, "index=1,,2", 400, "query_wrong_value");
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_STORE(sorted_in_each_way), WITH_STORE(chosen_in_each_way)};

    log_init("members", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
