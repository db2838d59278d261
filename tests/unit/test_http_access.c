/* Who is let in over TCP, as it is on the wire: by a token, by a session of a browser, or not; and who is put out. */
#include "common/log.h"
#include "api/refusals.h"
#include "daemon/store/event.h"
#include "daemon/store/session.h"
#include "daemon/store/token.h"
#include "tests/unit/http_rig.h"

#include <stdio.h>
#include <string.h>

#define OWN "Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n"

static void header_is(const struct reply *r, const char *name, const char *wanted)
{
    const char *has = rig_header(r, name);

    if (wanted == NULL ? has != NULL : has == NULL || strcmp(has, wanted) != 0)
        fail_msg("%s is not %s: %s", name, wanted != NULL ? wanted : "left out", r->headers);
}

static void is(const char *request, const char *headers, const char *body, int status)
{
    const struct reply *r = rig_ask(request, headers, body);

    if (r->status != status)
        fail_msg("%s, %s: %s%s", request, headers, r->headers, r->body);
}

static void tcp_wants_a_token(void **state)
{
    const char *reader, *operator, *admin;
    const struct reply *r;
    struct token_row row;

    is("GET /healthz", "", NULL, 200); /* the Unix socket does not */
    rig_over_tcp(true);
    r = rig_refused("GET /healthz", "", NULL, 401, "token_missing");
    header_is(r, "WWW-Authenticate", "Bearer realm=\"stretto\"");
    header_is(r, "Retry-After", NULL);
    /* it tells nothing of what there is */
    r = rig_refused("GET /nowhere", "Authorization: Bearer stretto_1_x\r\n", NULL, 401, "token_invalid");
    header_is(r, "WWW-Authenticate", "Bearer realm=\"stretto\", error=\"invalid_token\"");
    reader = rig_bearer("{\"role\": \"reader\", \"expires\": \"1h\"}");
    operator = rig_bearer("{\"role\": \"operator\"}");
    admin = rig_bearer("{\"role\": \"admin\"}");
    is("GET /v1/ensembles", reader, NULL, 200);
    must(store_token_get(store, 1, &row, &err));
    assert_int_equal(row.last_used_ms, rig_now);
    rig_refused("GET /nowhere", reader, NULL, 404, "path_not_found");
    rig_refused("POST /v1/ensembles/1/resume", reader, NULL, 403, "role_insufficient");
    rig_refused("POST /v1/ensembles/1/resume", operator, NULL, 404, "ensemble_not_found");
    rig_refused("GET /v1/tokens", operator, NULL, 403, "role_insufficient");
    is("GET /v1/tokens", admin, NULL, 200);
    is("HEAD /v1/tokens", admin, NULL, 200);
    rig_now += 3600000;
    rig_refused("GET /v1/ensembles", reader, NULL, 401, "token_invalid");
    is("GET /v1/ensembles", operator, NULL, 200);
    rig_revoke(2);
    rig_refused("GET /v1/ensembles", operator, NULL, 401, "token_invalid");
    is("GET /v1/ensembles", admin, NULL, 200);
}

static void run_sql(const char *sql)
{
    must(store_exec(store, &err, sql, ""));
    must(store_commit(store, &err));
}

/* Nobody is let in because it cannot be known who they are. */
static void a_database_that_cannot_be_read_lets_nobody_in(void **state)
{
    const char *reader = rig_bearer("{\"role\": \"reader\"}");
    const struct reply *r;

    is("GET /v1/tokens", reader, NULL, 403);
    run_sql("ALTER TABLE token RENAME TO elsewhere");
    r = rig_ask("GET /v1/jobs", reader, NULL);
    assert_int_equal(r->status, 500);
    assert_non_null(rig_header(r, "X-Request-Id"));
    is("GET /v1/tokens", reader, NULL, 500);
    run_sql("ALTER TABLE elsewhere RENAME TO token");
    is("GET /v1/jobs", reader, NULL, 200);
    run_sql("ALTER TABLE session RENAME TO elsewhere");
    is("GET /s/AAAAAAAAAAAAAAAAAAAAAA/v1/jobs", "Cookie: stretto=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n", NULL, 500);
    run_sql("ALTER TABLE elsewhere RENAME TO session");
}

static void other_names_are_refused(void **state)
{
    static const char ours[] = "GET /v1/ensembles HTTP/1.1\r\nHost: 127.0.0.1:1\r\nConnection: close\r\n\r\n",
                      of_socket[] = "GET /v1/ensembles HTTP/1.1\r\nHost: stretto\r\nConnection: close\r\n\r\n",
                      none[] = "GET /v1/ensembles HTTP/1.0\r\n\r\n";

    rig_over_tcp(true);
    assert_int_equal(rig_send(ours, strlen(ours))->status, 401);
    assert_int_equal(rig_send(of_socket, strlen(of_socket))->status, 403);
    assert_int_equal(rig_send(none, strlen(none))->status, 403);
}

static void whoever_tries_too_often_has_to_wait(void **state)
{
    const char *reader = rig_bearer("{\"role\": \"reader\"}");
    const struct reply *r;

    for (int i = 0; i < REFUSALS_MAX - 1; i++)
        rig_refused("GET /healthz", "Authorization: Bearer stretto_1_x\r\n", NULL, 401, "token_invalid");
    rig_refused("POST /v1/sessions", OWN, "{\"login\": \"x\"}", 403, "login_invalid"); /* which counts, too */
    r = rig_refused("POST /v1/sessions", OWN, "{\"login\": \"x\"}", 429, "too_many_tries");
    header_is(r, "Retry-After", "60");
    header_is(r, "WWW-Authenticate", NULL);
    rig_refused("GET /healthz", "", NULL, 429, "too_many_tries");
    is("GET /healthz", reader, NULL, 200); /* a good one need not */
}

/* What is open to everybody. */
static void strangers_get_the_page_and_begin_sessions(void **state)
{
    char large[5000] = "{\"login\": \"";
    const struct reply *r;

    rig_over_tcp(true);
    r = rig_ask("GET /", "Accept: text/html,*/*\r\n", NULL);
    assert_int_equal(r->status, 200);
    header_is(r, "Content-Type", "text/html; charset=utf-8");
    header_is(r, "Cache-Control", "no-cache");
    header_is(r, "X-Frame-Options", "DENY");
    assert_non_null(strstr(rig_header(r, "Content-Security-Policy"), "frame-ancestors 'none'"));
    assert_non_null(strstr(rig_header(r, "Content-Security-Policy"), "default-src 'none'; script-src 'self'"));
    assert_non_null(strstr(rig_header(r, "Permissions-Policy"), "camera=()"));
    header_is(r, "Referrer-Policy", "no-referrer");
    header_is(r, "Cross-Origin-Opener-Policy", "same-origin");
    header_is(r, "Cross-Origin-Resource-Policy", "same-origin");
    header_is(r, "Vary", "Accept, Accept-Encoding");
    header_is(rig_ask("GET /web/app.css", "", NULL), "Content-Type", "text/css; charset=utf-8");
    r = rig_ask("HEAD /web/app.js", "", NULL);
    assert_true(r->status == 200 && r->size == 0);
    rig_refused("GET /", "", NULL, 401, "token_missing");
    is("GET /web/app.js", "", NULL, 200);
    rig_refused("GET /web/index.html", "", NULL, 404, "file_not_found");
    /* a link */
    is("GET /", "Accept: text/html\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: document\r\n", NULL, 200);
    rig_refused("GET /", "Accept: text/html\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: iframe\r\n", NULL, 403,
                "origin_not_allowed");
    rig_refused("GET /v1/ensembles", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: document\r\n", NULL, 403,
                "origin_not_allowed");
    rig_refused("POST /v1/sessions", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: document\r\n", "{}", 403,
                "origin_not_allowed");
    memset(large + strlen(large), 'x', 4500);
    strcat(large, "\"}");
    rig_refused("POST /v1/sessions", "", large, 413, "body_too_large");
    large[4000] = '"', large[4001] = '}', large[4002] = '\0';
    rig_refused("POST /v1/sessions", "", large, 403, "login_invalid");
}

/* --- browsers */

static char path[256], cookie[256];
static bool is_secure; /* the cookie is for TLS only */

/* Keeps what a browser would of the reply: the path, and the cookie as a header. */
static void take_session(const struct reply *r, const char *below, const char *age)
{
    const char *set = rig_header(r, "Set-Cookie"), *place = json_string_value(json_object_get(rig_json(r), "place"));
    char wanted[256];

    if (r->status != 201)
        fail_msg("%s%s", r->headers, r->body);
    assert_true(set != NULL && place != NULL && strlen(place) == 25);
    is_secure = strstr(set, "; Secure") != NULL;
    snprintf(cookie, sizeof cookie, "Cookie: %.*s\r\n", (int)strcspn(set, ";"), set);
    snprintf(wanted, sizeof wanted, "; Path=%s%.24s; Max-Age=%s; HttpOnly; SameSite=Strict", below, place, age);
    if (strncmp(set + strcspn(set, ";"), wanted, strlen(wanted)) != 0)
        fail_msg("%s and not %s", set, wanted);
    snprintf(path, sizeof path, "/%.*s", (int)strlen(place) - 1, place);
}

/* Begins a session with a link of this wish. */
static void log_in(const char *wish, const char *headers)
{
    char body[128];

    rig_over_tcp(false);
    snprintf(body, sizeof body, "{\"login\": \"%s\"}",
             json_string_value(json_object_get(rig_json(rig_ask("POST /v1/logins", "", wish)), "login")));
    rig_over_tcp(true);
    take_session(rig_ask("POST /v1/sessions", headers, body), "/", "43200");
}

/* A request of the browser: of "GET /v1/x" below its place, with its cookie. */
static const struct reply *browse(const char *request, const char *headers, const char *body)
{
    char whole[512], all[512];
    const char *blank = strchr(request, ' ');

    snprintf(whole, sizeof whole, "%.*s %s%s", (int)(blank - request), request, path, blank + 1);
    snprintf(all, sizeof all, "%s%s", cookie, headers);
    return rig_ask(whole, all, body);
}

static void browses(const char *request, const char *headers, int status, const char *code)
{
    const struct reply *r = browse(request, headers, NULL);

    if (r->status != status ||
        (code != NULL && strcmp(json_string_value(json_object_get(rig_json(r), "code")) ?: "", code) != 0))
        fail_msg("%s, %s: %s%s", request, headers, r->headers, r->body);
}

static void a_session_takes_a_cookie_and_a_place(void **state)
{
    const struct reply *r;
    char other[400];

    add_ensemble(3);
    log_in("{\"role\": \"operator\"}", OWN);
    r = browse("GET /v1/ensembles", "", NULL);
    assert_int_equal(r->status, 200);
    header_is(r, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox");
    header_is(r, "Cross-Origin-Resource-Policy", "same-origin");
    header_is(r, "Referrer-Policy", "no-referrer");
    browses("GET /v1/tokens", "", 403, "role_insufficient");
    browses("GET /nowhere", "", 404, "path_not_found");
    browses("POST /v1/ensembles/9/resume", OWN, 404, "ensemble_not_found");
    browses("POST /v1/ensembles/9/resume", "Referer: http://localhost/\r\n", 404, "ensemble_not_found");
    browses("POST /v1/ensembles/9/resume", "", 403, "origin_not_allowed");
    browses("POST /v1/ensembles/9/resume", "Sec-Fetch-Site: none\r\n", 403, "origin_not_allowed");
    browses("POST /v1/ensembles/9/resume", "Origin: http://elsewhere\r\n", 403, "origin_not_allowed");
    browses("GET /v1/ensembles", "Sec-Fetch-Site: same-site\r\n", 403, "origin_not_allowed");
    browses("GET /v1/ensembles", "Sec-Fetch-Site: none\r\n", 200, NULL);
    browses("OPTIONS /v1/ensembles", "", 204, NULL);

    /* a cookie alone is none of a browser's session */
    rig_refused("GET /v1/ensembles", cookie, NULL, 401, "token_missing");
    snprintf(other, sizeof other, "%s" OWN, cookie);
    rig_refused("GET /v1/ensembles", other, NULL, 403, "session_missing");
    snprintf(other, sizeof other, "GET %s/v1/ensembles", path);
    rig_refused(other, "", NULL, 403, "session_missing");
    rig_refused(other, "Cookie: stretto=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n", NULL, 403, "session_missing");
    path[5] = path[5] == 'x' ? 'y' : 'x';
    browses("GET /v1/ensembles", "", 403, "session_missing");
    log_in(NULL, OWN);
    browses("GET /v1/ensembles", "", 200, NULL);
    browses("POST /v1/ensembles/9/resume", OWN, 403, "role_insufficient");
    rig_now += 43200000;
    browses("GET /v1/ensembles", "", 403, "session_missing");
}

static void a_session_ends_where_it_is_logged_out(void **state)
{
    struct session_row row;
    const struct reply *r;

    log_in("{\"role\": \"reader\"}", "Origin: http://localhost\r\n");
    r = browse("GET /v1/sessions/current", "", NULL);
    assert_int_equal(r->status, 200);
    assert_int_equal(json_integer_value(json_object_get(rig_json(r), "id")), 1);
    assert_string_equal(json_string_value(json_object_get(rig_json(r), "role")), "reader");
    must(store_session_get(store, 1, &row, &err));
    assert_int_equal(row.last_used_ms, rig_now);
    r = browse("DELETE /v1/sessions/current", OWN, NULL);
    assert_int_equal(r->status, 200);
    assert_non_null(strstr(rig_header(r, "Set-Cookie"), "stretto=; Path=/s/"));
    assert_non_null(strstr(rig_header(r, "Set-Cookie"), "; Max-Age=0; "));
    assert_non_null(strstr(rig_header(r, "Set-Cookie"), path + 3));
    browses("GET /v1/sessions/current", "", 403, "session_missing");
    rig_over_tcp(false);
    rig_refused("GET /v1/sessions/current", "", NULL, 404, "session_not_found");
    rig_refused("DELETE /v1/sessions/current", "", NULL, 404, "session_not_found");
}

static void who_comes_over_tls_gets_a_cookie_for_that(void **state)
{
    log_in(NULL, "Origin: http://localhost\r\n");
    assert_false(is_secure);
    assert_null(strstr(rig_header(browse("DELETE /v1/sessions/current", OWN, NULL), "Set-Cookie"), "Secure"));
    log_in(NULL, "Origin: https://localhost\r\n"); /* a proxy has ended it */
    assert_true(is_secure);
    assert_non_null(strstr(rig_header(browse("DELETE /v1/sessions/current", "Origin: https://localhost\r\n", NULL), "Set-Cookie"), "; Secure"));
}

static void a_token_begins_a_session_of_no_more_than_itself(void **state)
{
    const char *reader = rig_bearer("{\"role\": \"reader\", \"expires\": \"2h\"}"),
               *admin = rig_bearer("{\"role\": \"admin\"}");
    const struct reply *r;
    struct session_row row;

    take_session(rig_ask("POST /v1/sessions", reader, "{\"path\": \"/below/\"}"), "/below/", "7200");
    must(store_session_get(store, 1, &row, &err));
    assert_int_equal(row.token, 1);
    assert_int_equal(row.role, TOKEN_READER);
    assert_int_equal(row.expires_ms, rig_now + 7200000);
    assert_int_equal(row.created_ms, rig_now);
    browses("GET /v1/ensembles", "", 200, NULL);
    take_session(rig_ask("POST /v1/sessions", admin, "{\"role\": \"operator\", \"expires\": \"1h\"}"), "/", "3600");
    r = browse("GET /v1/sessions/current", "", NULL);
    assert_int_equal(json_integer_value(json_object_get(rig_json(r), "token")), 2);
    rig_refused("POST /v1/sessions", reader, "{\"role\": \"operator\"}", 403, "role_insufficient");
    rig_refused("POST /v1/sessions", admin, "{\"role\": \"admin\"}", 422, "spec_impossible_value");
    rig_refused("POST /v1/sessions", admin, "{\"login\": \"x\"}", 422, "spec_unknown_key");
    rig_refused("POST /v1/sessions", "Authorization: Bearer stretto_1_x\r\n", "{}", 401, "token_invalid");
    rig_refused("POST /v1/sessions", admin, "[]", 422, "spec_wrong_type");
    rig_revoke(2); /* and with it what it has begun */
    browses("GET /v1/sessions/current", "", 403, "session_missing");
}

static void a_path_is_one_of_a_cookie(void **state)
{
    static const char *const wrong[] = {"", "x", "/x", "x/", "/a;b/", "/a,b/", "/a b/", "/a\\\"b/", "/a\\\\b/", "/\\u00e4/", "/a\\u007fb/"};
    const char *reader = rig_bearer("{\"role\": \"reader\"}");
    char body[400];

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(body, sizeof body, "{\"path\": \"%s\"}", wrong[i]);
        rig_refused("POST /v1/sessions", reader, body, 422, "spec_impossible_value");
    }
    rig_refused("POST /v1/sessions", reader, "{\"path\": 1}", 422, "spec_wrong_type");
    rig_refused("POST /v1/sessions", "", "{\"login\": \"x\", \"path\": \"x\"}", 422, "spec_impossible_value");
    rig_refused("POST /v1/sessions", "", "{\"login\": \"x\", \"role\": \"reader\"}", 422, "spec_unknown_key");
    rig_refused("POST /v1/sessions", "", "{}", 422, "spec_missing_key");
    snprintf(body, sizeof body, "{\"path\": \"/%0*d/\"}", (int)sizeof((struct session_row *)NULL)->path - 3, 0);
    is("POST /v1/sessions", reader, body, 201);
    snprintf(body, sizeof body, "{\"path\": \"/%0*d/\"}", (int)sizeof((struct session_row *)NULL)->path - 2, 0);
    rig_refused("POST /v1/sessions", reader, body, 422, "spec_impossible_value");
    is("POST /v1/sessions", reader, "{\"path\": \"/~!/\"}", 201);
}

/* --- streams */

static int begin_stream(const char *headers)
{
    char all[512];
    int fd;

    snprintf(all, sizeof all, "%sAccept: text/event-stream\r\n", headers);
    fd = rig_begin("GET /v1/events", all);
    rig_until(fd, "retry: 1000\n\n");
    return fd;
}

static void put_event(const char *kind)
{
    must(store_event_put(store, 3000, kind, 1, -1, NULL, &err));
    must(store_commit(store, &err));
}

static void a_stream_ends_with_its_token(void **state)
{
    const char *one = rig_bearer("{\"role\": \"reader\"}"), *two = rig_bearer("{\"role\": \"reader\"}"),
               *soon = rig_bearer("{\"role\": \"reader\", \"expires\": \"1h\"}");
    int fd = begin_stream(one), other = begin_stream(two), third = begin_stream(soon);

    is("GET /v1/tokens", rig_bearer("{\"role\": \"admin\"}"), NULL, 200);
    rig_revoke(1);
    rig_rest(fd);
    put_event("first");
    is("DELETE /v1/tokens/1", rig_bearer("{\"role\": \"admin\"}"), NULL, 200); /* a commit, of which streams are told */
    rig_until(other, "event: first\n");
    rig_until(third, "event: first\n");
    rig_now += 3600000;
    put_event("second");
    is("DELETE /v1/tokens/1", rig_bearer("{\"role\": \"admin\"}"), NULL, 200);
    rig_until(other, "event: second\n");
    assert_null(strstr(rig_rest(third), "event: second"));
    close(other);
}

static void a_stream_ends_with_its_session(void **state)
{
    char request[300], headers[300];
    int fd;

    log_in(NULL, OWN);
    snprintf(request, sizeof request, "GET %s/v1/events", path);
    snprintf(headers, sizeof headers, "%sAccept: text/event-stream\r\n", cookie);
    fd = rig_begin(request, headers);
    rig_until(fd, "retry: 1000\n\n");
    rig_over_tcp(false);
    is("DELETE /v1/sessions/1", "", NULL, 200);
    rig_rest(fd);
    log_in(NULL, OWN);
    snprintf(request, sizeof request, "GET %s/v1/events", path);
    snprintf(headers, sizeof headers, "%sAccept: text/event-stream\r\n", cookie);
    fd = rig_begin(request, headers);
    rig_until(fd, "retry: 1000\n\n");
    rig_over_tcp(false);
    assert_int_equal(json_integer_value(json_object_get(rig_json(rig_ask("DELETE /v1/sessions", "", NULL)), "ended")), 1);
    rig_rest(fd);
}

#define WITH_HTTP(test) cmocka_unit_test_setup_teardown(test, rig_open, rig_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HTTP(tcp_wants_a_token), WITH_HTTP(a_database_that_cannot_be_read_lets_nobody_in), WITH_HTTP(other_names_are_refused), WITH_HTTP(whoever_tries_too_often_has_to_wait),
        WITH_HTTP(strangers_get_the_page_and_begin_sessions), WITH_HTTP(a_session_takes_a_cookie_and_a_place),
        WITH_HTTP(a_session_ends_where_it_is_logged_out), WITH_HTTP(who_comes_over_tls_gets_a_cookie_for_that),
        WITH_HTTP(a_token_begins_a_session_of_no_more_than_itself), WITH_HTTP(a_path_is_one_of_a_cookie),
        WITH_HTTP(a_stream_ends_with_its_token), WITH_HTTP(a_stream_ends_with_its_session),
    };

    log_init("http", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
