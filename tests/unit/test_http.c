/* Requests to a daemon whose database cannot be read: nothing wrong is told, and nobody is let in. */
#include "common/log.h"
#include "daemon/store/event.h"
#include "daemon/store/internal.h"
#include "daemon/store/member.h"
#include "tests/unit/http_rig.h"

#include <stdlib.h>

#define MEMBERS 10000 /* more than two pieces of a reply of states */

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

#define WITH_HTTP(test) cmocka_unit_test_setup_teardown(test, rig_open, rig_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HTTP(states_that_cannot_be_read_are_not_sent),
        WITH_HTTP(a_database_that_cannot_be_read_lets_nobody_in),
    };

    log_init("http", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
