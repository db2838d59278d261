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

static void there_may_be_no_event_yet(void **state)
{
    assert_int_equal(json_array_size(json_object_get(get(events_get, 0, ""), "events")), 0);
    not_ready = true;
    is_refused(events_get, 0, "", 503, "not_ready");
    not_ready = false;
}

static void a_stream_goes_on_behind_what_was_seen(void **state)
{
    static const struct {
        const char *query, *seen, *code;
        int64_t after;
    } cases[] = {{NULL, NULL, NULL, 3}, {"after=1", NULL, NULL, 1}, {"after=1", "2", NULL, 2}, {NULL, "", NULL, 3},
                 {NULL, "x", "last_event_id_invalid", 0}, {NULL, "-1", "last_event_id_invalid", 0},
                 {NULL, "1234567890123456789", "last_event_id_invalid", 0}};

    for (int i = 0; i < 3; i++)
        must(store_event_put(store, 1, "x", 1, -1, NULL, &err));
    must(store_commit(store, &err));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct asked asked = {.query = cases[i].query, .headers = {{"Accept", "text/event-stream"}, {"Last-Event-ID", cases[i].seen}}};
        int status;
        const json_t *json = ask(events_get, &asked, &status);

        if (cases[i].code != NULL) {
            assert_string_equal(json_string_value(json_object_get(json, "code")), cases[i].code);
            continue;
        }
        assert_int_equal(status, 200);
        assert_int_equal(json_integer_value(json_object_get(json, "after")), cases[i].after);
    }
}

/* --- checkpoints */

static char places[1024];

static void note_place(const json_t *item)
{
    size_t n = strlen(places);

    if (json_object_get(item, "training") != NULL) {
        snprintf(places + n, sizeof places - n, "t%d.%d ", (int)json_integer_value(json_object_get(item, "training")),
                 (int)json_integer_value(json_object_get(item, "number")));
        return;
    }
    snprintf(places + n, sizeof places - n, "%d.%d.%d ", (int)json_integer_value(json_object_get(item, "ensemble")),
             (int)json_integer_value(json_object_get(item, "member")),
             (int)json_integer_value(json_object_get(item, "number")));
}

static void checkpoints_are(int64_t pages, const char *query, const char *expected)
{
    places[0] = '\0';
    assert_int_equal(walk(checkpoints_get, 0, query, "cursor", "checkpoints", note_place), pages);
    assert_string_equal(places, expected);
}

/* Three of the training of ensemble 1, and one of that of ensemble 2. */
static void add_training_checkpoints(void)
{
    struct training_checkpoint_row row = {.generation = 1, .ranks = 1, .digest = "00"};

    for (int i = 1; i <= 4; i++) {
        struct training_row training = {.ensemble = i, .ranks = 1, .generation = 1, .created_ms = 1, .adapter = "local"};

        if (i <= 2)
            must(store_training_insert(store, &training, &err));
        row.training = i <= 3 ? 1 : 2;
        snprintf(row.name, sizeof row.name, "g1-s%d", i);
        must(store_training_checkpoint_add(store, &row, (const unsigned char *)"\1", 1, &err));
    }
}

static void checkpoints_page_by_page(void **state)
{
    struct member_checkpoint_row row = {.ensemble = 1, .attempt = 1, .path = "p", .step = -1, .digest = "00", .size = 1, .time_ms = 1};
    struct ensemble_row next = {.name = "x", .adapter = "local", .stream_key = "0", .count = 1, .width = 1, .created_ms = 1, .root = 1, .parent = 1};

    add_ensemble(9);
    add_ensemble(9);
    must(store_ensemble_insert(store, &next, "{}", &err));
    for (int i = 0; i < 7; i++) {
        row.home = i < 5 ? 1 : 2, row.index = i < 3 ? 4 : i, row.number = 10 + i;
        must(store_member_checkpoint_put(store, &row, &err));
    }
    checkpoints_are(1, "", "1.3.13 1.4.10 1.4.11 1.4.12 1.4.14 2.5.15 2.6.16 ");
    checkpoints_are(7, "limit=1", "1.3.13 1.4.10 1.4.11 1.4.12 1.4.14 2.5.15 2.6.16 ");
    checkpoints_are(4, "limit=2", "1.3.13 1.4.10 1.4.11 1.4.12 1.4.14 2.5.15 2.6.16 ");
    checkpoints_are(1, "limit=7", "1.3.13 1.4.10 1.4.11 1.4.12 1.4.14 2.5.15 2.6.16 ");
    checkpoints_are(3, "limit=2&ensemble=1", "1.3.13 1.4.10 1.4.11 1.4.12 1.4.14 ");
    /* a follow-up's lie where its root has them */
    checkpoints_are(3, "limit=2&ensemble=3", "1.3.13 1.4.10 1.4.11 1.4.12 1.4.14 ");
    checkpoints_are(4, "limit=1&ensemble=1&member=4", "1.4.10 1.4.11 1.4.12 1.4.14 ");
    checkpoints_are(1, "ensemble=2&member=4", "");
    add_training_checkpoints();
    checkpoints_are(1, "", "1.3.13 1.4.10 1.4.11 1.4.12 1.4.14 2.5.15 2.6.16 t1.1 t1.2 t1.3 t2.1 ");
    checkpoints_are(11, "limit=1", "1.3.13 1.4.10 1.4.11 1.4.12 1.4.14 2.5.15 2.6.16 t1.1 t1.2 t1.3 t2.1 ");
    checkpoints_are(2, "limit=7", "1.3.13 1.4.10 1.4.11 1.4.12 1.4.14 2.5.15 2.6.16 t1.1 t1.2 t1.3 t2.1 ");
    checkpoints_are(2, "limit=9", "1.3.13 1.4.10 1.4.11 1.4.12 1.4.14 2.5.15 2.6.16 t1.1 t1.2 t1.3 t2.1 ");
    checkpoints_are(3, "limit=3&ensemble=1", "1.3.13 1.4.10 1.4.11 1.4.12 1.4.14 t1.1 t1.2 t1.3 ");
    checkpoints_are(1, "ensemble=3", "1.3.13 1.4.10 1.4.11 1.4.12 1.4.14 ");
    checkpoints_are(1, "ensemble=1&member=3", "1.3.13 ");
    checkpoints_are(2, "limit=2&training=1", "t1.1 t1.2 t1.3 ");
    checkpoints_are(1, "training=2", "t2.1 ");
    is_refused(checkpoints_get, 0, "training=3", 404, "training_not_found");
    is_refused(checkpoints_get, 0, "training=1&ensemble=1", 400, "query_wrong_value");
    is_refused(checkpoints_get, 0, "cursor=t1", 400, "query_wrong_value");
    is_refused(checkpoints_get, 0, "cursor=t1.2x", 400, "query_wrong_value");
    is_refused(checkpoints_get, 0, "member=4", 400, "query_wrong_value");
    is_refused(checkpoints_get, 0, "ensemble=9", 404, "ensemble_not_found");
    is_refused(checkpoints_get, 0, "cursor=1.2", 400, "query_wrong_value");
    is_refused(checkpoints_get, 0, "cursor=1.2.3x", 400, "query_wrong_value");
    is_refused(checkpoints_get, 0, "cursor=1.-2.3", 400, "query_wrong_value");
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

static const char *state_in(const json_t *changes, const char *member)
{
    return json_string_value(json_object_get(json_object_get(changes, "members"), member)) ?: "-";
}

/* Members that were never tried change with their ensemble, and have no row. */
static void changes_of_members_without_rows(void **state)
{
    static const char *const ends[] = {"ensemble.cancelled", "ensemble.ending", "ensemble.failed"};
    const json_t *changes;

    add_ensemble(4);
    add_ensemble(9000);
    must(store_event_put(store, 1, "member.ended", 1, 3, NULL, &err));
    must(store_event_put(store, 1, "other", 1, -1, NULL, &err));
    must(store_event_put(store, 1, "members.changed", 1, -1, "{}", &err)); /* which says nothing */
    must(store_event_put(store, 1, "members.changed", 1, -1, "{\"from\":0,\"to\":3,\"state\":\"lazy\"}", &err));
    must(store_commit(store, &err));
    changes = get(ensemble_states_get, 1, "since=0");
    assert_string_equal(state_in(changes, "3"), "pending");
    assert_int_equal(json_object_size(json_object_get(changes, "members")), 1);
    assert_int_equal(json_integer_value(json_object_get(changes, "ensemble")), 1);
    assert_int_equal(json_integer_value(json_object_get(changes, "event")), 4);
    run_sql("UPDATE ensemble SET state = 'cancelled', ended = 2, next_index = 2");
    for (int64_t i = 0; i < 3; i++) {
        char query[32];

        must(store_event_put(store, 1, ends[i], 1, -1, NULL, &err));
        must(store_commit(store, &err));
        snprintf(query, sizeof query, "since=%d", (int)i + 4);
        changes = get(ensemble_states_get, 1, query);
        assert_int_equal(json_object_size(json_object_get(changes, "members")), 2);
        assert_string_equal(state_in(changes, "2"), "cancelled");
        assert_string_equal(state_in(changes, "3"), "cancelled");
    }
    must(store_event_put(store, 1, "ensemble.cancelled", 2, -1, NULL, &err));
    must(store_commit(store, &err));
    is_refused(ensemble_states_get, 2, "since=7", 410, "changes_not_kept"); /* more than a reply has room for */
    run_sql("UPDATE ensemble SET next_index = 808 WHERE id = 2");
    assert_int_equal(json_object_size(json_object_get(get(ensemble_states_get, 2, "since=7"), "members")), 8192);
    run_sql("DELETE FROM event WHERE id < 4");
    must(store_commit(store, &err));
    is_refused(ensemble_states_get, 1, "since=2", 410, "changes_not_kept");
    get(ensemble_states_get, 1, "since=3");
}

/* --- metrics */

static int64_t points;
static char names[512];

static void put_points(const char *name, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        must(store_metric_put(store, 1, name, &(struct metric_point){.step = i, .time_ms = 1, .value = (double)i}, &err));
}

/* All pages of the series: how many points they tell of; their names. */
static int all_series(const char *query)
{
    char cursor[64] = "", whole[128];
    int pages = 0;

    points = 0;
    names[0] = '\0';
    do {
        const json_t *page, *bucket;
        const char *name;
        json_t *series;
        size_t i;

        snprintf(whole, sizeof whole, "%s%s%s", query, cursor[0] ? "&cursor=" : "", cursor);
        page = get(training_metrics_get, 1, whole);
        json_object_foreach (json_object_get(page, "series"), name, series) {
            strcat(strcat(names, name), " ");
            json_array_foreach (json_object_get(series, "buckets"), i, bucket)
                points += json_integer_value(json_object_get(bucket, "count"));
        }
        snprintf(cursor, sizeof cursor, "%s", next_of(page) ?: "");
        assert_true(++pages < 100);
    } while (cursor[0] != '\0');
    return pages;
}

static void every_point_is_told_of(void **state)
{
    struct training_row training = {.ensemble = add_ensemble(1), .ranks = 1, .generation = 1, .created_ms = 1, .adapter = "local"};

    must(store_training_insert(store, &training, &err));
    put_points("a", 1);
    put_points("a!", 2);
    put_points("ab", 2000); /* as many as are read at once */
    put_points("a~", 2001);
    put_points("b", 4000);
    put_points("\xc3\xa4", 3);
    must(store_commit(store, &err));
    assert_int_equal(all_series("buckets=10"), 1);
    assert_string_equal(names, "a a! ab a~ b \xc3\xa4 ");
    assert_int_equal(points, 1 + 2 + 2000 + 2001 + 4000 + 3);
    assert_int_equal(all_series("buckets=10&limit=1"), 6);
    assert_string_equal(names, "a a! ab a~ b \xc3\xa4 ");
    assert_int_equal(all_series("name=ab"), 1);
    assert_int_equal(points, 2000);
    assert_int_equal(all_series("name=aa"), 1);
    assert_string_equal(names, "");
    assert_int_equal(all_series("from=1999&to=2000"), 1);
    assert_int_equal(points, 1 + 2 + 2); /* of ab, a~ and b */
    is_refused(training_metrics_get, 1, "from=3&to=2", 400, "query_wrong_value");
    is_refused(training_metrics_get, 1, "name=a&cursor=b", 400, "query_wrong_value");
    is_refused(training_metrics_get, 2, "", 404, "training_not_found");
}

/* Adds a point to a series of a member of the ensemble. */
static void put_of_member(int64_t ensemble, int64_t index, const char *name, int64_t step, double value)
{
    struct series_point point = series_point_of(step, 1000, 1, value, 0);
    struct series_row row;

    must(store_series_open(store, ensemble, index, name, &row, &err));
    must(store_series_add(store, &row, &point, 4, &err));
    must(store_series_save(store, &row, &err));
}

static const json_t *get_of_member(void (*handler)(struct request *r), int64_t ensemble, int64_t index,
                                   const char *query)
{
    int status;
    const json_t *reply = ask(handler, &(struct asked){.ids = {ensemble, index}, .query = query}, &status);

    assert_int_equal(status, 200);
    return reply;
}

static void points_of_members_are_told_of(void **state)
{
    int64_t ensemble = add_ensemble(3);
    const json_t *reply, *list;
    int64_t count = 0;
    json_t *bucket;
    size_t i;

    must(store_member_put(store, &(struct member_row){.ensemble = ensemble, .index = 1, .state = MEMBER_RUNNING}, &err));
    for (int64_t step = 0; step < 11; step++)
        put_of_member(ensemble, 1, "loss", step, step == 7 ? 100 : 1);
    put_of_member(ensemble, 1, "accuracy", 3, 0.5);
    must(store_commit(store, &err));
    reply = get_of_member(member_metrics_get, ensemble, 1, "");
    assert_int_equal(json_object_size(json_object_get(reply, "series")), 2);
    list = json_object_get(json_object_get(json_object_get(reply, "series"), "loss"), "buckets");
    json_array_foreach (list, i, bucket)
        count += json_integer_value(json_object_get(bucket, "count"));
    assert_int_equal(count, 11);
    reply = get_of_member(member_metrics_get, ensemble, 1, "name=loss&buckets=1&from=1");
    bucket = json_array_get(json_object_get(json_object_get(json_object_get(reply, "series"), "loss"), "buckets"), 0);
    assert_true(json_number_value(json_object_get(bucket, "max")) == 100);
    reply = get_of_member(member_points_get, ensemble, 1, "name=accuracy");
    assert_int_equal(json_array_size(json_object_get(reply, "points")), 1);
    reply = get_of_member(member_points_get, ensemble, 1, "name=loss&limit=1");
    assert_string_equal(next_of(reply), "0");
    reply = get_of_member(member_points_get, ensemble, 1, "name=loss&cursor=0");
    assert_true(json_integer_value(json_object_get(json_array_get(json_object_get(reply, "points"), 0), "count")) > 1);
    reply = get_of_member(member_points_get, ensemble, 2, ""); /* which has none */
    assert_int_equal(json_array_size(json_object_get(reply, "points")), 0);
}

static void a_history_is_thinned_but_for_its_ends(void **state)
{
    struct training_row training = {.ensemble = add_ensemble(1), .ranks = 1, .generation = 1, .created_ms = 1, .adapter = "local"};
    const json_t *moments;
    size_t n;

    must(store_training_insert(store, &training, &err));
    assert_int_equal(json_array_size(json_object_get(get(training_history_get, 1, ""), "moments")), 0);
    for (int i = 0; i < 100; i++)
        must(store_moment_put(store, 1, &(struct moment_row){.time_ms = 1000 * (i + 1), .generation = i < 55 ? 1 : 2, .received = i}, &err));
    must(store_commit(store, &err));
    moments = json_object_get(get(training_history_get, 1, "moments=10"), "moments");
    n = json_array_size(moments);
    assert_in_range(n, 10, 13);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(moments, 0), "received")), 0);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(moments, n - 1), "received")), 99);
    for (size_t i = 0; i < n; i++) { /* the first moment of the second generation is never left out */
        const json_t *moment = json_array_get(moments, i);

        if (json_integer_value(json_object_get(moment, "generation")) == 2) {
            assert_int_equal(json_integer_value(json_object_get(moment, "received")), 55);
            break;
        }
    }
    assert_int_equal(json_array_size(json_object_get(get(training_history_get, 1, ""), "moments")), 100);
}

static void tokens_and_sessions_page_by_page(void **state)
{
    for (int i = 1; i <= 7; i++) {
        struct token_row token = {.role = TOKEN_READER, .created_ms = 1};
        struct session_row session = {.role = TOKEN_READER, .path = "/", .created_ms = 1, .expires_ms = i == 3 ? 999999 : 1000001};

        memset(token.hash, '0' + i, 64);
        memset(session.hash, '0' + i, 64);
        must(store_token_insert(store, &token, &err));
        must(store_session_insert(store, &session, &err));
    }
    n_ids = 0;
    assert_int_equal(walk(tokens_get, 0, "limit=3", "cursor", "tokens", note_id), 3);
    assert_true(n_ids == 7 && ids[0] == 7 && ids[3] == 4 && ids[6] == 1);
    n_ids = 0;
    assert_int_equal(walk(tokens_get, 0, "limit=7", "cursor", "tokens", note_id), 1);
    n_ids = 0;
    assert_int_equal(walk(sessions_get, 0, "limit=3", "cursor", "sessions", note_id), 2); /* one has expired */
    assert_true(n_ids == 6 && ids[0] == 7 && ids[3] == 4 && ids[4] == 2 && ids[5] == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(events_of_a_rare_kind_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(there_may_be_no_event_yet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stream_goes_on_behind_what_was_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(checkpoints_page_by_page, set_up, tear_down),
        cmocka_unit_test_setup_teardown(changes_come_in_as_many_replies_as_that_takes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(changes_of_members_without_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_point_is_told_of, set_up, tear_down),
        cmocka_unit_test_setup_teardown(points_of_members_are_told_of, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_history_is_thinned_but_for_its_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tokens_and_sessions_page_by_page, set_up, tear_down),
    };

    log_init("handlers", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
