/* Requests and replies as they are on the wire: what is refused before a handler sees it, headers, codings, pieces, and
 * streams. */
#include "common/log.h"
#include "daemon/engine/memory/ensemble.h"
#include "daemon/engine/memory/training.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/event.h"
#include "daemon/store/internal.h"
#include "daemon/store/member.h"
#include "tests/unit/http_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MEMBERS 10000 /* more than two pieces of a reply of states */

static void header_is(const struct reply *r, const char *name, const char *wanted)
{
    const char *has = rig_header(r, name);

    if (wanted == NULL ? has != NULL : has == NULL || strcmp(has, wanted) != 0)
        fail_msg("%s is not %s: %s", name, wanted != NULL ? wanted : "left out", r->headers);
}

static void has(const struct reply *r, const char *text)
{
    if (strstr(r->body, text) == NULL)
        fail_msg("no %s in: %s", text, r->body);
}

static const char *member_of(const struct reply *r, const char *key)
{
    return json_string_value(json_object_get(rig_json(r), key));
}

/* --- requests */

static void replies_have_their_headers(void **state)
{
    const struct reply *r = rig_ask("GET /healthz", "", NULL);

    assert_int_equal(r->status, 200);
    assert_true(r->whole);
    header_is(r, "Content-Type", "application/json");
    header_is(r, "Cache-Control", "no-store");
    header_is(r, "X-Content-Type-Options", "nosniff");
    header_is(r, "Content-Security-Policy", NULL);
    header_is(r, "X-Request-Id", NULL);
    r = rig_ask("HEAD /healthz", "", NULL);
    assert_int_equal(r->status, 200);
    assert_int_equal(r->size, 0);
    r = rig_ask("GET /readyz", "", NULL);
    assert_int_equal(r->status, 200);
    assert_string_equal(member_of(r, "status"), "ready");
    r = rig_ask("GET /", "", NULL);
    assert_string_equal(member_of(r, "openapi"), "/openapi.json");
    assert_string_equal(member_of(r, "ensembles"), "/v1/ensembles");
    r = rig_ask("GET /openapi.json", "", NULL);
    assert_int_equal(r->status, 200);
    assert_true(r->whole && json_is_object(rig_json(r)));
}

static void files_of_the_dashboard_are_sent(void **state)
{
    const struct reply *r = rig_ask("GET /web/app.js", "", NULL);
    char known[128];
    size_t size = r->size;

    assert_true(r->status == 200 && r->whole && size > 0);
    assert_non_null(strstr(rig_header(r, "Content-Type"), "javascript"));
    header_is(r, "Content-Encoding", NULL);
    snprintf(known, sizeof known, "If-None-Match: %s\r\n", rig_header(r, "ETag"));
    r = rig_ask("GET /web/app.js", known, NULL);
    assert_true(r->status == 304 && r->size == 0);
    assert_int_equal(rig_ask("GET /web/app.css", known, NULL)->status, 200); /* which is another */
    r = rig_ask("GET /web/app.js", "Accept-Encoding: gzip\r\n", NULL);
    header_is(r, "Content-Encoding", "gzip");
    assert_true(r->status == 200 && r->size < size);
    rig_refused("GET /web/nothing.js", "", NULL, 404, "file_not_found");
    rig_refused("GET /web/app", "", NULL, 404, "file_not_found");
}

static int refuse_commit(void *arg)
{
    return 1;
}

/* Neither is its secret told. */
static void what_cannot_be_stored_was_not_done(void **state)
{
    const struct reply *r;

    sqlite3_commit_hook(store->db, refuse_commit, NULL);
    r = rig_ask("POST /v1/tokens", "", "{\"role\": \"reader\"}");
    sqlite3_commit_hook(store->db, NULL, NULL);
    if (r->status < 500 || json_object_get(rig_json(r), "token") != NULL)
        fail_msg("%s%s", r->headers, r->body);
    r = rig_ask("GET /v1/tokens", "", NULL);
    assert_int_equal(json_array_size(json_object_get(rig_json(r), "tokens")), 0);
    assert_int_equal(rig_ask("POST /v1/tokens", "", "{\"role\": \"reader\"}")->status, 201);
    r = rig_ask("GET /v1/tokens", "", NULL);
    assert_int_equal(json_array_size(json_object_get(rig_json(r), "tokens")), 1);
}

/* --- states */

/* Members 1, 5000 and the last have rows. */
static void add_states(void)
{
    add_ensemble(MEMBERS);
    must(store_member_put(store, &(struct member_row){.ensemble = 1, .index = 1, .state = MEMBER_RUNNING}, &err));
    must(store_member_put(store, &(struct member_row){.ensemble = 1, .index = 5000, .state = MEMBER_FAILED}, &err));
    must(store_member_put(store, &(struct member_row){.ensemble = 1, .index = MEMBERS - 1, .state = MEMBER_SUCCEEDED}, &err));
    must(store_event_put(store, 1, "member.ended", 1, 1, NULL, &err));
    must(store_event_put(store, 1, "other", 2, 1, NULL, &err));
    must(store_commit(store, &err));
}

static void run_sql(const char *sql)
{
    must(store_exec(store, &err, sql, ""));
    must(store_commit(store, &err));
}

/* States that are wrong are worse than none. */
static void states_that_cannot_be_read_are_not_sent(void **state)
{
    static const char *const requests[] = {"GET /v1/ensembles/1/states", "GET /v1/ensembles/1/states?host=a"};

    add_states();
    run_sql("ALTER TABLE member RENAME TO elsewhere");
    for (size_t i = 0; i < 2; i++) {
        const struct reply *r = rig_ask(requests[i], "", NULL);

        assert_false(r->status == 200 && r->whole);
        r = rig_ask(requests[i], "Accept-Encoding: gzip\r\n", NULL);
        assert_false(r->status == 200 && r->whole);
    }
    run_sql("ALTER TABLE elsewhere RENAME TO member");
    run_sql("ALTER TABLE event RENAME TO elsewhere");
    assert_int_equal(rig_ask(requests[0], "", NULL)->status, 500);
    assert_int_equal(rig_ask("GET /v1/events", "", NULL)->status, 500);
    run_sql("ALTER TABLE elsewhere RENAME TO event");
}

/* --- who is let in */

static void status_is(const char *request, const char *headers, const char *body, int status)
{
    const struct reply *r = rig_ask(request, headers, body);

    if (r->status != status)
        fail_msg("%s, %s: %s%s", request, headers, r->headers, r->body);
}

/* Nobody is let in because it cannot be known who they are. */
static void a_database_that_cannot_be_read_lets_nobody_in(void **state)
{
    const char *reader = rig_bearer("{\"role\": \"reader\"}");
    const struct reply *r;

    status_is("GET /v1/tokens", reader, NULL, 403);
    run_sql("ALTER TABLE token RENAME TO elsewhere");
    r = rig_ask("GET /v1/jobs", reader, NULL);
    assert_int_equal(r->status, 500);
    assert_non_null(rig_header(r, "X-Request-Id"));
    status_is("GET /v1/tokens", reader, NULL, 500);
    run_sql("ALTER TABLE elsewhere RENAME TO token");
    status_is("GET /v1/jobs", reader, NULL, 200);
    run_sql("ALTER TABLE session RENAME TO elsewhere");
    status_is("GET /s/AAAAAAAAAAAAAAAAAAAAAA/v1/jobs", "Cookie: stretto=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n", NULL, 500);
    run_sql("ALTER TABLE elsewhere RENAME TO session");
}

/* --- metrics */

static void write_status(const char *name, const char *text)
{
    char path[160];
    FILE *f;

    snprintf(path, sizeof path, "%s/e1/training/g3/%s", rig_dir, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static double value_of(const char *text, const char *name)
{
    const char *found = strstr(text, name);

    if (found == NULL)
        fail_msg("no %s in: %s", name, text);
    return strtod(found + strlen(name), NULL);
}

/* Each bucket has those of the one before, too. */
static void turns_are_told(const char *text)
{
    double n = 0, count = value_of(text, "\nstretto_turn_seconds_count ");
    int buckets = 0;

    for (const char *line = text; (line = strstr(line, "stretto_turn_seconds_bucket{le=")) != NULL; line++) {
        double now = value_of(line, "\"} ");

        assert_true(now >= n && now <= count);
        n = now;
        buckets++;
    }
    assert_true(buckets > 5 && n == count && count > 1);
    assert_true(value_of(text, "\nstretto_turn_seconds_sum ") > 0);
    assert_true(value_of(text, "\nstretto_turn_seconds_sum ") < 3600);
}

/* Each metric has its help and its type. */
static void metrics_are_explained(const char *text)
{
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        int size = (int)strcspn(line, "{ \n");
        char type[128], help[128];

        if (*line == '#')
            continue;
        if (strncmp(line, "stretto_turn_seconds", 20) == 0)
            size = 20;
        snprintf(type, sizeof type, "\n# TYPE %.*s ", size, line);
        snprintf(help, sizeof help, "# HELP %.*s ", size, line);
        if (strstr(text, type) == NULL || strstr(text, help) == NULL)
            fail_msg("what is %.*s?", size, line);
    }
}

static void metrics_are_told(void **state)
{
    struct training training = {.row = {.id = 5, .ensemble = 1, .state = TRAINING_RUNNING, .ranks = 2, .generation = 3}};
    struct live_ensemble live = {.row = {.id = 1}, .training = &training};
    const struct reply *r;
    char path[100];

    add_ensemble(6);
    must(store_exec(store, &err, "UPDATE tally SET n = 2 WHERE state = 'running'", ""));
    must(store_commit(store, &err));
    rig_engine.follow_ups = 21;
    r = rig_ask("GET /metrics", "", NULL);
    assert_int_equal(r->status, 200);
    assert_int_equal(strncmp(rig_header(r, "Content-Type"), "text/plain", 10), 0);
    has(r, "\nstretto_ensembles{state=\"running\"} 1\n");
    has(r, "\nstretto_ensembles{state=\"paused\"} 0\n");
    has(r, "\nstretto_members{state=\"pending\"} 6\n");
    has(r, "\nstretto_members{state=\"running\"} 2\n");
    has(r, "\nstretto_families_unfinished 0\n");
    has(r, "\nstretto_follow_ups_total 21\n");
    has(r, "\nstretto_commit_failing 0\n");
    has(r, "\nstretto_control_messages_total{result=\"taken\"} 11\n");
    has(r, "\nstretto_control_messages_total{result=\"other_user\"} 12\n");
    has(r, "\nstretto_control_messages_total{result=\"malformed\"} 13\n");
    has(r, "\nstretto_connections{state=\"admitted\"} 1\n");
    has(r, "\nstretto_connections{state=\"stranger\"} 0\n");
    has(r, "\nstretto_connections_evicted_total 0\n");
    has(r, "\nstretto_turn_seconds_bucket{le=\"+Inf\"} ");
    turns_are_told(r->body);
    has(r, "\nstretto_training_ranks_untold 0\n");
    assert_null(strstr(r->body, "\nstretto_training_ranks{"));

    snprintf(path, sizeof path, "mkdir -p %s/e1/training/g3", rig_dir);
    assert_int_equal(system(path), 0);
    write_status("status-rank0.json", "{\"received\": 100, \"unique\": -1, \"time\": 1.5, \"batches\": \"x\"}");
    write_status("status-rank1.json", "{\"received\": 200}");
    write_status("done-rank1.json", "{\"received\": 300, \"room_wait_seconds\": 0.25}");
    rig_engine.ensembles = &live;
    r = rig_ask("GET /metrics", "", NULL);
    metrics_are_explained(r->body);
    has(r, "\nstretto_training_ranks{ensemble=\"1\",training=\"5\"} 2\n");
    has(r, "\nstretto_training_restarts{ensemble=\"1\",training=\"5\"} 2\n");
    has(r, "\nstretto_training_samples_received_total{ensemble=\"1\",training=\"5\",rank=\"0\"} 100\n");
    has(r, "\nstretto_training_samples_received_total{ensemble=\"1\",training=\"5\",rank=\"1\"} 300\n");
    has(r, "\nstretto_training_room_wait_seconds_total{ensemble=\"1\",training=\"5\",rank=\"1\"} 0.25\n");
    has(r, "\nstretto_training_status_timestamp_seconds{ensemble=\"1\",training=\"5\",rank=\"0\"} 1.5\n");
    assert_null(strstr(r->body, "\nstretto_training_samples_unique_total{"));
    assert_null(strstr(r->body, "\nstretto_training_batches_total{"));
    training.row.ranks = 4096;
    r = rig_ask("GET /metrics", "", NULL);
    has(r, "\nstretto_training_ranks_untold 0\n");
    has(r, "\nstretto_training_ranks{ensemble=\"1\",training=\"5\"} 4096\n");
    training.row.ranks = 4097;
    r = rig_ask("GET /metrics", "", NULL);
    has(r, "\nstretto_training_ranks_untold 4097\n");
    assert_null(strstr(r->body, "\nstretto_training_ranks{"));
    rig_engine.ensembles = NULL;
}

#define WITH_HTTP(test) cmocka_unit_test_setup_teardown(test, rig_open, rig_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HTTP(replies_have_their_headers),
        WITH_HTTP(files_of_the_dashboard_are_sent),
        WITH_HTTP(what_cannot_be_stored_was_not_done),
        WITH_HTTP(states_that_cannot_be_read_are_not_sent),
        WITH_HTTP(a_database_that_cannot_be_read_lets_nobody_in),
        WITH_HTTP(metrics_are_told),
    };

    log_init("http", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
