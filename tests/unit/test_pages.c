/* The default length of a list: the served document and the replies agree. */
#include "api/event_stream.h"
#include "api/feed.h"
#include "api/handlers.h"
#include "common/embedded.h"
#include "common/log.h"
#include "daemon/store/event.h"
#include "daemon/store/internal.h"
#include "daemon/store/member.h"
#include "daemon/store/series.h"
#include "daemon/store/training.h"
#include "tests/unit/fake_engine.h"
#include "tests/unit/fake_request.h"
#include "tests/unit/open_store.h"

#include <stdio.h>
#include <string.h>

#define SERIES_OF_MEMBER 200

extern const struct embedded api_openapi[];

static const json_t *resolve(const json_t *doc, const json_t *value)
{
    const char *ref = json_string_value(json_object_get(value, "$ref"));

    return ref == NULL ? value
                       : json_object_get(json_object_get(json_object_get(doc, "components"), "parameters"),
                                         strrchr(ref, '/') + 1);
}

/* The schema of a parameter. */
static const json_t *schema_of(const json_t *doc, const char *path, const char *name)
{
    const json_t *list = json_object_get(json_object_get(json_object_get(json_object_get(doc, "paths"), path), "get"), "parameters"), *one;
    size_t i;

    json_array_foreach (list, i, one) {
        one = resolve(doc, one);
        if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0)
            return json_object_get(one, "schema");
    }
    fail_msg("%s has no %s", path, name);
    return NULL;
}

/* Inserts so many rows, in which i goes from 1 on. */
static void many(int n, const char *insert)
{
    char sql[512];

    snprintf(sql, sizeof sql,
             "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < %d) %s FROM n", n, insert);
    if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", insert, sqlite3_errmsg(store->db));
}

static const char spec[] = "{\"name\": \"x\", \"adapter\": \"local\", \"members\": {\"command\": [\"true\", \"{a}\"], \"parameters\": "
                           "{\"method\": \"halton\", \"count\": 1200, \"space\": {\"a\": [0, 1]}}},"
                           " \"early_stopping\": {\"rule\": \"asha\", \"metric\": \"loss\", \"rungs\": {\"min\": 10, \"max\": 90, \"reduction\": 3}}}";

static int set_up(void **state)
{
    struct training_row training = {.ensemble = 1, .adapter = "local", .ranks = 1, .generation = 1, .created_ms = 1};
    struct series_row series;
    struct series_point point;

    if (open_store(state) != 0)
        return -1;
    fake_config = (struct api_config){.store = store};
    fake_engine_spec(spec);
    add_ensemble(1200);
    must(store_training_insert(store, &training, &err));
    must(store_member_put(store, &(struct member_row){.ensemble = 1, .index = 0, .state = MEMBER_RUNNING}, &err));
    must(store_series_open(store, 1, 0, "long", &series, &err));
    for (int i = 0; i < 1500; i++) {
        point = series_point_of(i, 1000, 1, 1, 0);
        must(store_series_add(store, &series, &point, 100000, &err));
    }
    must(store_series_save(store, &series, &err));
    for (int i = 1; i < SERIES_OF_MEMBER; i++) {
        char name[16];

        snprintf(name, sizeof name, "m%d", i);
        point = series_point_of(1, 1000, 1, 1, 0);
        must(store_series_open(store, 1, 0, name, &series, &err));
        must(store_series_add(store, &series, &point, 4, &err));
        must(store_series_save(store, &series, &err));
    }
    must(store_commit(store, &err));
    many(1200, "INSERT INTO token (hash, role, created) SELECT printf('%064d', i), 'reader', 1");
    many(1200, "INSERT INTO session (hash, role, path, created, expires) SELECT printf('%064d', i), 'reader', '/', 1, 2000000");
    many(1200, "INSERT INTO job (ensemble, kind, adapter, name, state, size, created) SELECT 1, 'members', 'local', 'j', 'intent', 1, 1");
    many(1200, "INSERT INTO member_checkpoint SELECT 1, i, 1, 1, 1, 'p', 1, 1, '00', 1");
    many(1200, "INSERT OR IGNORE INTO generation (training, number, ranks) SELECT 1, i, 1");
    many(1200, "INSERT INTO metric SELECT 1, 'm' || i, 1, 0, 1, 0.5");
    many(12000, "INSERT INTO metric SELECT 1, 'long', i, 0, 1, 0.5");
    many(12000, "INSERT INTO metric SELECT 1, 'long2', i, 0, 1, 0.5");
    many(10, "INSERT INTO metric SELECT 1, 'long3', i, 0, 1, 0.5");
    many(12000, "INSERT INTO moment SELECT 1, i, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0");
    many(1200, "INSERT INTO cause SELECT 1, 'failed', 'c' || i, 1, 1, i, 1");
    many(1200, "INSERT INTO arrival (ensemble, number, rung, idx, attempt, step, loss) SELECT 1, i, 1, i, 1, 1, 1");
    many(1200, "INSERT INTO event (time, kind, ensemble) SELECT 1, 'k', 1");
    for (int i = 1; i < 1200; i++)
        add_ensemble(1);
    must(store_commit(store, &err));
    return reopen_store() | ((fake_config.store = store) == NULL);
}

static int tear_down(void **state)
{
    fake_engine_spec(NULL);
    return close_store(state);
}

int64_t feed_newest(const struct feed *feed)
{
    return store_event_newest(store);
}

void event_stream_reply(struct request *r, int64_t after, const struct event_filter *filter)
{
}

const char *engine_run_dir(const struct engine *engine)
{
    return "/run";
}

char *engine_attempt_dir(const struct engine *engine, int64_t ensemble, int64_t index, int64_t number)
{
    return strdup("/nowhere");
}

/* Its workers are through at once. */
int uv_queue_work(uv_loop_t *loop, uv_work_t *work, uv_work_cb run, uv_after_work_cb after)
{
    run(work);
    after(work, 0);
    return 0;
}

static const struct {
    void (*handler)(struct request *r);
    const char *path, *name, *key, *query;
} lists[] = {
    {tokens_get, "/v1/tokens", "limit", "tokens", ""},
    {sessions_get, "/v1/sessions", "limit", "sessions", ""},
    {jobs_get, "/v1/jobs", "limit", "jobs", ""},
    {checkpoints_get, "/v1/checkpoints", "limit", "checkpoints", ""},
    {events_get, "/v1/events", "limit", "events", ""},
    {ensembles_get, "/v1/ensembles", "limit", "ensembles", ""},
    {ensembles_get, "/v1/ensembles", "limit", "ensembles", "sort=name"},
    {ensembles_get, "/v1/ensembles", "limit", "ensembles", "sort=rate"},
    {members_get, "/v1/ensembles/{id}/members", "limit", "members", ""},
    {members_get, "/v1/ensembles/{id}/members", "limit", "members", "sort=attempts"},
    {arrivals_get, "/v1/ensembles/{id}/arrivals", "limit", "arrivals", ""},
    {ensemble_failures_get, "/v1/ensembles/{id}/failures", "limit", "failures", ""},
    {training_generations_get, "/v1/trainings/{id}/generations", "limit", "generations", ""},
    {training_points_get, "/v1/trainings/{id}/points", "limit", "points", "name=long"},
    {training_metrics_get, "/v1/trainings/{id}/metrics", "limit", "series", "cursor=m"},
    {training_metrics_get, "/v1/trainings/{id}/metrics", "buckets", "series/long/buckets", "name=long"},
    {member_metrics_get, "/v1/ensembles/{id}/members/{index}/metrics", "limit", "series", ""},
    {member_metrics_get, "/v1/ensembles/{id}/members/{index}/metrics", "buckets", "series/long/buckets", "name=long"},
    {member_points_get, "/v1/ensembles/{id}/members/{index}/points", "limit", "points", "name=long"},
    {training_history_get, "/v1/trainings/{id}/history", "moments", "moments", ""},
};

/* Returns how many items the page has. */
static int64_t size_of(size_t i, const char *more)
{
    char query[128], keys[64], *rest = keys, *key;
    const json_t *place;

    snprintf(query, sizeof query, "%s%s%s", lists[i].query, lists[i].query[0] && more[0] ? "&" : "", more);
    place = get(lists[i].handler, 1, query);
    snprintf(keys, sizeof keys, "%s", lists[i].key);
    while ((key = strsep(&rest, "/")) != NULL)
        place = json_object_get(place, key);
    return (int64_t)(json_is_object(place) ? json_object_size(place) : json_array_size(place));
}

static void pages_are_as_large_as_the_document_says(void **state)
{
    json_t *doc = json_loadb(api_openapi[0].data, api_openapi[0].size, 0, NULL);

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const json_t *schema = schema_of(doc, lists[i].path, lists[i].name);
        int64_t usual = json_integer_value(json_object_get(schema, "default")),
                most = json_integer_value(json_object_get(schema, "maximum"));
        bool about = strcmp(lists[i].name, "limit") != 0; /* it is not quite as many */
        char query[64];
        int64_t got = size_of(i, "");

        if (about ? got > usual * 11 / 10 || got < usual * 3 / 4 : got != usual)
            fail_msg("%s?%s has %lld and not %lld", lists[i].path, lists[i].query, (long long)got, (long long)usual);
        snprintf(query, sizeof query, "%s%s%s=%lld", lists[i].query, lists[i].query[0] ? "&" : "", lists[i].name,
                 (long long)most + 1);
        is_refused(lists[i].handler, 1, query, 400, "query_wrong_value");
        /* which size_of() adds to the other query */
        snprintf(query, sizeof query, "%s=%lld", lists[i].name, (long long)most);
        got = size_of(i, query);
        if (!about && lists[i].handler == member_metrics_get)
            most = SERIES_OF_MEMBER; /* a member has no more */
        if (most <= 1000 && got != most)
            fail_msg("%s?%s has %lld and not %lld", lists[i].path, query, (long long)got, (long long)most);
        snprintf(query, sizeof query, "%s=1", lists[i].name);
        got = size_of(i, query);
        if (got != 1 && !(about && got <= 3))
            fail_msg("%s?%s has %lld", lists[i].path, query, (long long)got);
        snprintf(query, sizeof query, "%s%s%s=0", lists[i].query, lists[i].query[0] ? "&" : "", lists[i].name);
        is_refused(lists[i].handler, 1, query, 400, "query_wrong_value");
    }
    json_decref(doc);
}

/* A page of series has no more than so many points, but each series is whole. */
static void series_are_whole(void **state)
{
    const json_t *page = get(training_metrics_get, 1, "cursor=long&buckets=10"), *one;
    int64_t points = 0;
    size_t i;

    assert_int_equal(json_object_size(json_object_get(page, "series")), 2);
    json_array_foreach (json_object_get(json_object_get(json_object_get(page, "series"), "long2"), "buckets"), i, one)
        points += json_integer_value(json_object_get(one, "count"));
    assert_int_equal(points, 12000);
    assert_string_equal(json_string_value(json_object_get(page, "next")), "long3");
    page = get(training_metrics_get, 1, "cursor=long3&buckets=10");
    assert_int_equal(json_object_size(json_object_get(page, "series")), 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages_are_as_large_as_the_document_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(series_are_whole, set_up, tear_down)};

    log_init("pages", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
