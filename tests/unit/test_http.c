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
#include <zlib.h>

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

static void what_is_not_possible_is_refused(void **state)
{
    const struct reply *r = rig_refused("GET /nowhere", "", NULL, 404, "path_not_found");

    r = rig_refused("DELETE /v1/ensembles", "", NULL, 405, "method_not_allowed");
    header_is(r, "Allow", "GET, HEAD, POST, OPTIONS");
    r = rig_ask("OPTIONS /v1/ensembles", "", NULL);
    assert_int_equal(r->status, 204);
    header_is(r, "Allow", "GET, HEAD, POST, OPTIONS");
    rig_refused("GET /v1/ensembles?colour=red", "", NULL, 400, "query_unknown_parameter");
    rig_refused("GET /v1/ensembles?limi=1", "", NULL, 400, "query_unknown_parameter");
    rig_refused("GET /v1/ensembles?limit=1&limit=1", "", NULL, 400, "query_wrong_value");
    rig_refused("GET /v1/ensembles?limit", "", NULL, 400, "query_wrong_value");
    rig_refused("GET /v1/ensembles?limit=", "", NULL, 400, "query_wrong_value");
    assert_int_equal(rig_ask("GET /v1/ensembles?name=a%00b", "", NULL)->status, 200); /* no name has that */
    rig_refused("GET /v1/ensembles?state=running,", "", NULL, 400, "query_wrong_value");
    assert_int_equal(rig_ask("GET /v1/ensembles?state=running,paused&limit=1000", "", NULL)->status, 200);
    rig_refused("GET /v1/ensembles?limit=1001", "", NULL, 400, "query_wrong_value");
    rig_refused("GET /v1/ensembles", "If-Match: \"x\"\r\n", NULL, 412, "precondition_failed");
    assert_int_equal(rig_ask("GET /v1/ensembles", "If-Match: *\r\n", NULL)->status, 200);
    rig_refused("GET /healthz", "Host: stretto\r\n", NULL, 400, "request_ambiguous");
    rig_refused("GET /healthz", "Authorization: a\r\nAuthorization: b\r\n", NULL, 400, "request_ambiguous");
    assert_int_equal(rig_ask("POST /v1/ensembles", "Content-Length: 2\r\n", "{}")->status, 400); /* by libmicrohttpd */
    assert_int_equal(rig_ask("POST /v1/ensembles", "Transfer-Encoding: chunked\r\n", "{}")->status, 400);
    rig_refused("POST /v1/ensembles", "Transfer-Encoding: gzip\r\n", NULL, 400, "request_ambiguous");
}

static void hosts_are_ours(void **state)
{
    static const char none[] = "GET /healthz HTTP/1.0\r\n\r\n",
                      other[] = "GET /healthz HTTP/1.1\r\nHost: evil\r\nConnection: close\r\n\r\n",
                      local[] = "GET /healthz HTTP/1.1\r\nHost: localhost:80\r\nConnection: close\r\n\r\n";

    assert_int_equal(rig_send(none, strlen(none))->status, 200);
    assert_int_equal(rig_send(local, strlen(local))->status, 200);
    assert_int_equal(rig_send(other, strlen(other))->status, 403);
}

static void bodies_are_read(void **state)
{
    const struct reply *r = rig_refused("POST /v1/ensembles", "", "{\"a\": 1,\n \"b\": }", 400, "json_malformed");
    char *large;

    assert_int_equal(json_integer_value(json_object_get(rig_json(r), "line")), 2);
    assert_true(json_integer_value(json_object_get(rig_json(r), "column")) > 1);
    rig_refused("POST /v1/ensembles", "", "", 400, "json_malformed");
    rig_refused("POST /v1/ensembles", "", "{\"a\": 1, \"a\": 2}", 400, "json_malformed");
    rig_refused("POST /v1/ensembles", "Content-Type: text/plain\r\n", "{}", 415, "body_not_json");
    rig_refused("POST /v1/ensembles", "Content-Type: application/jsonx\r\n", "{}", 415, "body_not_json");
    rig_refused("POST /v1/ensembles", "Content-Type: application/json; charset=latin1\r\n", "{}", 415, "body_not_json");
    rig_refused("POST /v1/ensembles", "Content-Type: application/json; charset=\"UTF-8\"\r\n", "[]", 422,
                "spec_wrong_type");
    rig_refused("POST /v1/ensembles", "Content-Type: Application/JSON\r\n", "[]", 422, "spec_wrong_type");
    assert_int_equal(rig_ask("GET /healthz", "Content-Type: text/plain\r\n", NULL)->status, 200); /* of no body */
    rig_refused("POST /v1/ensembles/1/resume", "", "{\"a\": 1}", 422, "spec_unknown_key");
    rig_refused("POST /v1/ensembles/1/resume", "", "[]", 422, "spec_unknown_key");
    rig_refused("POST /v1/ensembles/1/resume", "", "{", 400, "json_malformed");
    rig_refused("POST /v1/ensembles/1/resume", "", "{}", 404, "ensemble_not_found");
    large = malloc(200001);
    memset(large, ' ', 200000);
    memcpy(large, "[1", 2);
    strcpy(large + 199999, "]");
    rig_refused("POST /v1/ensembles", "", large, 422, "spec_wrong_type"); /* which comes in many pieces */
    free(large);
    r = rig_refused("POST /v1/ensembles", "Content-Length: 16777217\r\nExpect: 100-continue\r\n", NULL, 413,
                    "body_too_large");
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

static char code_of(enum member_state state)
{
    return (char)('0' + state);
}

/* The states from `first` on are those of add_states(), and the others `rowless`. */
static void states_are(const char *states, size_t size, int64_t first, int64_t end, enum member_state rowless)
{
    assert_int_equal(size, end - first);
    for (int64_t i = first; i < end; i++) {
        char wanted = code_of(i == 1 ? MEMBER_RUNNING : i == 5000 ? MEMBER_FAILED : i == MEMBERS - 1 ? MEMBER_SUCCEEDED : rowless);

        if (states[i - first] != wanted)
            fail_msg("member %lld is %c and not %c", (long long)i, states[i - first], wanted);
    }
}

static void states_of_all_members(void **state)
{
    struct ensemble_row row;
    const struct reply *r;
    char etag[64];

    add_states();
    r = rig_ask("GET /v1/ensembles/1/states", "", NULL);
    assert_int_equal(r->status, 200);
    assert_true(r->whole);
    states_are(r->body, r->size, 0, MEMBERS, MEMBER_PENDING);
    header_is(r, "Content-Type", "text/plain");
    header_is(r, "Last-Event-ID", "2");
    header_is(r, "Accept-Ranges", "bytes");
    header_is(r, "Vary", "Accept-Encoding");
    header_is(r, "Content-Encoding", NULL);
    header_is(r, "Content-Range", NULL);
    header_is(r, "ETag", "W/\"1\"");
    snprintf(etag, sizeof etag, "If-None-Match: W/\"1\"\r\n");
    r = rig_ask("GET /v1/ensembles/1/states", etag, NULL);
    assert_int_equal(r->status, 304);
    assert_int_equal(r->size, 0);
    header_is(r, "ETag", "W/\"1\"");
    assert_int_equal(rig_ask("GET /v1/ensembles/1/states", "If-None-Match: W/\"2\"\r\n", NULL)->status, 200);

    must(store_ensemble_get(store, 1, &row, &err));
    row.state = ENSEMBLE_CANCELLED;
    row.ended_ms = 2;
    must(store_ensemble_update(store, &row, &err));
    must(store_commit(store, &err));
    r = rig_ask("GET /v1/ensembles/1/states", "", NULL);
    states_are(r->body, r->size, 0, MEMBERS, MEMBER_CANCELLED);
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

static void parts_of_states(void **state)
{
    const struct reply *r;

    add_states();
    r = rig_ask("GET /v1/ensembles/1/states", "Range: bytes=4090-9000\r\n", NULL);
    assert_int_equal(r->status, 206);
    header_is(r, "Content-Range", "bytes 4090-9000/10000");
    states_are(r->body, r->size, 4090, 9001, MEMBER_PENDING);
    /* a part is not packed */
    r = rig_ask("GET /v1/ensembles/1/states", "Range: bytes=-1\r\nAccept-Encoding: gzip\r\n", NULL);
    header_is(r, "Content-Encoding", NULL);
    states_are(r->body, r->size, MEMBERS - 1, MEMBERS, MEMBER_PENDING);
    r = rig_ask("GET /v1/ensembles/1/states", "Range: bytes=0-1\r\nIf-Range: W/\"1\"\r\n", NULL);
    assert_int_equal(r->status, 200);
    assert_int_equal(r->size, MEMBERS);
    r = rig_refused("GET /v1/ensembles/1/states", "Range: bytes=10000-\r\n", NULL, 416, "range_not_satisfiable");
    header_is(r, "Content-Range", "bytes */10000");
}

static void packed_states(void **state)
{
    static const struct {
        const char *accept, *coding;
        int bits;
    } cases[] = {{"Accept-Encoding: gzip, deflate\r\n", "gzip", MAX_WBITS + 16}, {"Accept-Encoding: gzip;q=0, deflate\r\n", "deflate", MAX_WBITS},
                 {"Accept-Encoding: br\r\n", NULL, 0}, {"Accept-Encoding: identity, GZIP;q=0.5\r\n", "gzip", MAX_WBITS + 16}};

    add_states();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct reply *r = rig_ask("GET /v1/ensembles/1/states", cases[i].accept, NULL);
        unsigned char out[MEMBERS + 1];
        z_stream z = {.next_in = (unsigned char *)r->body, .avail_in = (unsigned)r->size, .next_out = out, .avail_out = sizeof out};

        assert_true(r->whole);
        header_is(r, "Content-Encoding", cases[i].coding);
        if (cases[i].coding == NULL) {
            states_are(r->body, r->size, 0, MEMBERS, MEMBER_PENDING);
            continue;
        }
        assert_true(r->size < MEMBERS / 10);
        assert_int_equal(inflateInit2(&z, cases[i].bits), Z_OK);
        assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
        states_are((char *)out, z.total_out, 0, MEMBERS, MEMBER_PENDING);
        inflateEnd(&z);
    }
}

/* A follow-up's members are a few of the family's. */
static void states_of_a_follow_up(void **state)
{
    struct ensemble_row row = {.name = "x", .adapter = "local", .stream_key = "0", .count = 1, .width = 1, .created_ms = 1, .root = 1, .parent = 1};
    const struct reply *r;

    add_ensemble(5);
    must(store_ensemble_insert(store, &row, "{}", &err));
    must(store_exec(store, &err, "INSERT INTO member (ensemble, idx, state, successor) VALUES (1, 3, 'unfinished', 2)", ""));
    must(store_exec(store, &err, "INSERT INTO member (ensemble, idx, state, predecessor) VALUES (2, 3, 'submitted', 1)", ""));
    must(store_commit(store, &err));
    r = rig_ask("GET /v1/ensembles/2/states", "", NULL);
    assert_int_equal(r->size, 5);
    for (int i = 0; i < 5; i++)
        assert_int_equal(r->body[i], i == 3 ? code_of(MEMBER_SUBMITTED) : '-');
}

static void states_found_and_changed(void **state)
{
    const struct reply *r;

    add_states();
    r = rig_ask("GET /v1/ensembles/1/states?since=0", "", NULL);
    assert_string_equal(json_string_value(json_object_get(json_object_get(rig_json(r), "members"), "1")), "running");
    assert_int_equal(json_integer_value(json_object_get(rig_json(r), "event")), 2);
    rig_refused("GET /v1/ensembles/1/states?since=3", "", NULL, 410, "changes_not_kept");
    r = rig_ask("GET /v1/ensembles/1/states?since=3&otherwise=states", "", NULL);
    states_are(r->body, r->size, 0, MEMBERS, MEMBER_PENDING);
    r = rig_ask("GET /v1/ensembles/1/states?since=1&otherwise=states", "", NULL);
    assert_int_equal(json_object_size(json_object_get(rig_json(r), "members")), 0);
    rig_refused("GET /v1/ensembles/1/states?since=1&otherwise=all", "", NULL, 400, "query_wrong_value");
    rig_refused("GET /v1/ensembles/1/states?otherwise=states", "", NULL, 400, "query_wrong_value");
    rig_refused("GET /v1/ensembles/1/states?since=0&host=a", "", NULL, 400, "query_wrong_value");
    add_attempt(add_job(1, "local").id, 1, 7, 1);
    must(store_exec(store, &err, "UPDATE attempt SET host = 'h1' WHERE idx = 7", ""));
    must(store_commit(store, &err));
    r = rig_ask("GET /v1/ensembles/1/states?host=h1", "", NULL);
    assert_int_equal(r->size, MEMBERS);
    for (int i = 0; i < MEMBERS; i++)
        if ((r->body[i] != '-') != (i == 7))
            fail_msg("%d is %c", i, r->body[i]);
}

/* --- events */

static void events_are_streamed(void **state)
{
    int fd, other;
    char text[64];

    must(store_event_put(store, 1000, "ensemble.made", 1, -1, NULL, &err));
    must(store_event_put(store, 2000, "member.ended", 1, 4, "{\"a\": 1}", &err));
    rig_turn();
    fd = rig_begin("GET /v1/events?after=0", "Accept: text/event-stream\r\n");
    rig_until(fd, "200 OK\r\n");
    rig_until(fd, "retry: 1000\n\n");
    rig_until(fd, "id: 1\n");
    rig_until(fd, "\"kind\":\"ensemble.made\"");
    rig_until(fd, "id: 2\n");
    rig_until(fd, "\n\n");
    for (int i = 3; i < 6; i++) { /* as they come */
        must(store_event_put(store, 3000, i == 4 ? "ensemble.complete" : "other", i, -1, NULL, &err));
        rig_turn();
        snprintf(text, sizeof text, "id: %d\n", i);
        rig_until(fd, text);
    }
    close(fd);
    other = rig_begin("GET /v1/events?kind=ensemble.complete", "Accept: text/event-stream\r\nLast-Event-ID: 1\r\n");
    rig_until(other, "retry: 1000\n\nid: 4\n");
    close(other);
}

static void an_event_stream_ends_with_the_daemon(void **state)
{
    int fd = rig_begin("GET /v1/events", "Accept: text/event-stream\r\n");

    rig_until(fd, "retry: 1000\n\n");
    close(fd);
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
        WITH_HTTP(replies_have_their_headers), WITH_HTTP(what_is_not_possible_is_refused), WITH_HTTP(hosts_are_ours),
        WITH_HTTP(bodies_are_read), WITH_HTTP(files_of_the_dashboard_are_sent), WITH_HTTP(what_cannot_be_stored_was_not_done), WITH_HTTP(states_of_all_members), WITH_HTTP(states_that_cannot_be_read_are_not_sent), WITH_HTTP(parts_of_states), WITH_HTTP(packed_states),
        WITH_HTTP(states_of_a_follow_up), WITH_HTTP(states_found_and_changed), WITH_HTTP(events_are_streamed),
        WITH_HTTP(an_event_stream_ends_with_the_daemon), WITH_HTTP(metrics_are_told),
    };

    log_init("http", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
