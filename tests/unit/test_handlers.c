/* What lists and long replies of the HTTP interface hold, page by page and to the end. */
#include "api/checkpoint_json.h"
#include "api/event_stream.h"
#include "api/feed.h"
#include "api/handlers.h"
#include "common/log.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/event.h"
#include "daemon/store/member_checkpoint.h"
#include "daemon/store/moment.h"
#include "daemon/store/series.h"
#include "daemon/store/member.h"
#include "daemon/store/session.h"
#include "daemon/store/training.h"
#include "tests/unit/fake_request.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char dir[64];
static struct store *store;
static struct error err;

static bool not_ready; /* what was found at the start is not stored yet */

int64_t feed_newest(const struct feed *feed)
{
    return not_ready ? -1 : store_event_newest(store);
}

void event_stream_reply(struct request *r, int64_t after, const struct event_filter *filter)
{
    request_reply_json(r, 200, json_pack("{s:I}", "after", (json_int_t)after));
}

/* Without the path, which the engine knows. */
json_t *checkpoint_json(const struct request *r, const struct member_checkpoint_row *row)
{
    return json_pack("{s:I, s:I, s:I}", "ensemble", (json_int_t)row->home, "member", (json_int_t)row->index, "number",
                     (json_int_t)row->number);
}

json_t *training_checkpoint_json(const struct request *r, const struct training_checkpoint_row *row)
{
    return json_pack("{s:I, s:s, s:I}", "training", (json_int_t)row->training, "name", row->name, "number",
                     (json_int_t)row->number);
}

static int set_up(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL || store_open(&store, dir, &err) < 0)
        return -1;
    fake_config = (struct api_config){.store = store};
    return 0;
}

static int tear_down(void **state)
{
    char rm[128];

    store_commit(store, &err);
    store_close(store);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void must(int rc)
{
    if (rc < 0)
        fail_msg("%s", err.text);
}

static void run_sql(const char *sql)
{
    if (store_exec(store, &err, sql, "") < 0)
        fail_msg("%s", err.text);
}

static int64_t add_ensemble(int64_t count)
{
    struct ensemble_row row = {.name = "x", .adapter = "local", .stream_key = "0", .count = count, .width = 1, .created_ms = 1};

    must(store_ensemble_insert(store, &row, "{}", &err));
    return row.id;
}

static const char *next_of(const json_t *page)
{
    return json_string_value(json_object_get(page, "next"));
}

/* Go through all pages of a list of `query`, which is a whole one but for the cursor; `note` is called with each item.
 * The pages. */
static int walk(void (*handler)(struct request *r), int64_t id, const char *query, const char *cursor_name,
                const char *key, void (*note)(const json_t *item))
{
    char cursor[128] = "", whole[256];
    int pages = 0;

    do {
        const json_t *page, *item;
        size_t i;

        snprintf(whole, sizeof whole, "%s%s%s%s%s", query, cursor[0] && query[0] ? "&" : "", cursor[0] ? cursor_name : "", cursor[0] ? "=" : "",
                 cursor);
        page = get(handler, id, whole);
        json_array_foreach (json_object_get(page, key), i, item)
            note(item);
        snprintf(cursor, sizeof cursor, "%s", next_of(page) ?: "");
        if (++pages > 100)
            fail_msg("%s goes on for ever", query);
    } while (cursor[0] != '\0');
    return pages;
}

static int64_t ids[4096], n_ids;

static void note_id(const json_t *item)
{
    ids[n_ids++] = json_integer_value(json_object_get(item, "id"));
}

/* --- events */

/* 25,000 events: one of a rare kind at the beginning, and one near the end. */
static void events_of_a_rare_kind_are_found(void **state)
{
    const json_t *page;

    run_sql("WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 25000) INSERT INTO event (id, time, kind, ensemble, idx) "
            "SELECT i, 1000, iif(i = 1 OR i = 24000, 'ensemble.failed', 'usual'), 1 + i % 2, i FROM n");
    must(store_commit(store, &err));
    store_close(store);
    must(store_open(&store, dir, &err)); /* which reads how far ids are given */
    fake_config.store = store;
    n_ids = 0;
    assert_true(walk(events_get, 0, "kind=ensemble.failed", "after", "events", note_id) <= 4);
    assert_true(n_ids == 2 && ids[0] == 1 && ids[1] == 24000);
    n_ids = 0;
    walk(events_get, 0, "ensemble=1&limit=1000&kind=ensemble.failed", "after", "events", note_id);
    assert_true(n_ids == 1 && ids[0] == 24000);
    page = get(events_get, 0, "after=24997&limit=2");
    assert_string_equal(next_of(page), "24999");
    assert_int_equal(json_integer_value(json_object_get(page, "newest")), 25000);
    assert_int_equal(json_integer_value(json_object_get(page, "oldest")), 1);
    page = get(events_get, 0, "after=24998&limit=2");
    assert_int_equal(json_array_size(json_object_get(page, "events")), 2);
    assert_null(next_of(page)); /* there is no more for now, though the page is full */
    page = get(events_get, 0, "after=30000");
    assert_null(next_of(page));
    assert_int_equal(json_array_size(json_object_get(page, "events")), 0);
}

/* --- changes of states */

static void add_members(int64_t ensemble, int64_t from, int64_t to)
{
    char sql[320];

    for (int64_t i = from; i < to; i++)
        must(store_member_put(store, &(struct member_row){.ensemble = ensemble, .index = i, .state = MEMBER_FAILED}, &err));
    snprintf(sql, sizeof sql, "{\"from\":%lld,\"to\":%lld,\"state\":\"failed\"}", (long long)from, (long long)to - 1);
    must(store_event_put(store, 1, "members.changed", ensemble, -1, sql, &err));
}

/* Replies of changes since an event, one after the other, until there are no more: how many members they name. */
static size_t changes_since(int64_t since, int *replies)
{
    json_t *all = json_object();
    bool more = true;
    size_t n;

    for (*replies = 0; more; (*replies)++) {
        char query[32];
        const json_t *json;

        snprintf(query, sizeof query, "since=%lld", (long long)since);
        json = get(ensemble_states_get, 1, query);
        json_object_update(all, json_object_get(json, "members"));
        more = json_is_true(json_object_get(json, "more"));
        since = json_integer_value(json_object_get(json, "event"));
        assert_true(*replies < 50);
    }
    n = json_object_size(all);
    json_decref(all);
    return n;
}

static void changes_come_in_as_many_replies_as_that_takes(void **state)
{
    struct ensemble_row row;
    int replies;

    add_ensemble(30000);
    for (int i = 0; i < 5; i++) /* slices of many members */
        add_members(1, 3000 * i, 3000 * (i + 1));
    must(store_commit(store, &err));
    assert_int_equal(changes_since(0, &replies), 15000);
    assert_true(replies > 1);
    assert_int_equal(changes_since(4, &replies), 3000);
    assert_int_equal(replies, 1);
    for (int i = 0; i < 10000; i++) /* many events of few members */
        must(store_event_put(store, 1, "attempt.ended", 1, i % 7, NULL, &err));
    must(store_commit(store, &err));
    assert_int_equal(changes_since(5, &replies), 7);
    assert_int_equal(replies, 3);
    add_members(1, 15000, 29000); /* more than a reply has room for */
    must(store_commit(store, &err));
    is_refused(ensemble_states_get, 1, "since=10005", 410, "changes_not_kept");

    must(store_ensemble_get(store, 1, &row, &err));
    row.next_index = 29000;
    row.state = ENSEMBLE_CANCELLED;
    row.ended_ms = 2;
    must(store_ensemble_update(store, &row, &err));
    must(store_event_put(store, 1, "ensemble.cancelled", 1, -1, NULL, &err));
    must(store_commit(store, &err));
    assert_int_equal(changes_since(10006, &replies), 1000); /* those without a row */
    is_refused(ensemble_states_get, 1, "since=10008", 410, "changes_not_kept");
}

/* --- metrics */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(events_of_a_rare_kind_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(changes_come_in_as_many_replies_as_that_takes, set_up, tear_down),
    };

    log_init("handlers", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
