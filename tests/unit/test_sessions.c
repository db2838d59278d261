/* Sessions, links, tokens and repeated calls, as handlers make and end them: what they grant, how long, and who is
 * told. */
#include "api/handlers.h"
#include "api/idempotency.h"
#include "common/log.h"
#include "daemon/store/session.h"
#include "tests/unit/failing_store.h"
#include "tests/unit/fake_request.h"
#include "tests/unit/open_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set_up(void **state)
{
    if (open_store(state) != 0)
        return -1;
    fake_config = (struct api_config){.store = store};
    fake_revocations = 0;
    return 0;
}

static int tear_down(void **state)
{
    must(store_commit(store, &err));
    return close_store(state);
}

static const struct caller owner = {.role = TOKEN_ADMIN};

/* The answer to a body, which must have that status. */
static const json_t *post(void (*handler)(struct request *r), const char *body, const struct caller *caller, int wanted)
{
    struct asked asked = {.body = body, .caller = *caller};
    int status;
    const json_t *json = ask(handler, &asked, &status);

    if (status != wanted)
        fail_msg("%s: %d, %s", body, status, json_string_value(json_object_get(json, "detail")));
    return json;
}

static const char *text_of(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

static void a_link_is_good_for_five_minutes_and_once(void **state)
{
    struct caller session = {.role = TOKEN_READER, .session = 3};
    const json_t *json = post(logins_post, "{\"role\": \"operator\", \"expires\": \"2h\"}", &owner, 201);
    char body[128];

    assert_string_equal(text_of(json, "expires"), "1970-01-01T00:21:40.000Z"); /* it is 00:16:40 */
    assert_string_equal(text_of(json, "session_expires"), "1970-01-01T02:16:40.000Z");
    assert_string_equal(text_of(json, "role"), "operator");
    snprintf(body, sizeof body, "{\"login\": \"%s\"}", text_of(json, "login"));
    json = post(sessions_post, body, &owner, 201);
    assert_string_equal(text_of(json, "role"), "operator");
    assert_string_equal(text_of(json, "expires"), "1970-01-01T02:16:40.000Z");
    assert_int_equal(fake_revocations, 0);
    json = post(sessions_post, body, &owner, 403);
    assert_string_equal(text_of(json, "code"), "login_invalid");
    assert_string_equal(text_of(post(logins_post, NULL, &owner, 201), "role"), "reader"); /* a body is not needed */
    assert_string_equal(text_of(post(logins_post, "{}", &session, 403), "code"), "role_insufficient");
    post(logins_post, "{\"roles\": 1}", &owner, 422);
}

static void begin_session(void)
{
    char body[128];

    snprintf(body, sizeof body, "{\"login\": \"%s\"}", text_of(post(logins_post, NULL, &owner, 201), "login"));
    post(sessions_post, body, &owner, 201);
}

/* What streams to a browser whose session has ended must be told to end, whoever ended it. */
static void whoever_loses_a_session_is_looked_for(void **state)
{
    struct asked asked = {.caller = {.role = TOKEN_READER, .session = 2}};
    struct session_row row;
    int status;

    for (int i = 0; i < SESSIONS_MAX; i++)
        begin_session();
    assert_int_equal(fake_revocations, 0);
    begin_session(); /* one more ends the oldest */
    assert_int_equal(fake_revocations, 1);
    assert_int_equal(store_session_get(store, 1, &row, &err), 0);
    ask(session_current_delete, &asked, &status);
    assert_int_equal(status, 200);
    assert_int_equal(fake_revocations, 2);
    assert_int_equal(store_session_get(store, 2, &row, &err), 0);
    asked = (struct asked){.ids = {3}, .caller = owner};
    ask(session_delete, &asked, &status);
    assert_int_equal(status, 200);
    assert_int_equal(fake_revocations, 3);
    ask(session_delete, &asked, &status);
    assert_int_equal(status, 404);
    assert_int_equal(fake_revocations, 3);
    assert_int_equal(json_integer_value(json_object_get(ask(sessions_delete, &asked, &status), "ended")),
                     SESSIONS_MAX - 2);
    assert_int_equal(fake_revocations, 4);
}

static void a_token_ends_with_what_it_began(void **state)
{
    struct asked asked = {.ids = {1}, .caller = owner};
    struct session_row session = {.role = TOKEN_READER, .path = "/", .created_ms = 1, .expires_ms = INT64_MAX};
    const json_t *json =
        post(tokens_post, "{\"role\": \"operator\", \"label\": \"x\", \"expires\": \"1h\"}", &owner, 201);
    int status;

    assert_string_equal(text_of(json, "expires"), "1970-01-01T01:16:40.000Z");
    assert_string_equal(text_of(json, "label"), "x");
    assert_true(json_is_null(json_object_get(post(tokens_post, "{\"role\": \"reader\"}", &owner, 201), "expires")));
    post(tokens_post, "{\"role\": \"reader\", \"expires\": \"0s\"}", &owner, 422);
    post(tokens_post, "{}", &owner, 422);
    session.token = 1;
    memset(session.hash, 'a', 64);
    must(store_session_insert(store, &session, &err));
    json = ask(token_delete, &asked, &status);
    assert_int_equal(status, 200);
    assert_string_equal(text_of(json, "revoked"), "1970-01-01T00:16:40.000Z");
    assert_int_equal(fake_revocations, 1);
    assert_int_equal(store_session_get(store, session.id, &session, &err), 0);
    asked.ids[0] = 99;
    ask(token_delete, &asked, &status);
    assert_int_equal(status, 404);
}

/* --- repeated calls */

static const char *call;
static int made;

static void make_thing(struct request *r)
{
    struct idempotency key;

    if (idempotency_answered(r, call, &key, NULL))
        return;
    made++;
    idempotency_reply(r, &key, 202, json_pack("{s:i}", "made", made));
}

static int thing(const char *key, const char *body, int wanted)
{
    struct asked asked = {.body = body, .headers = {{"Idempotency-Key", key}}};
    int status;
    const json_t *json = ask(make_thing, &asked, &status);

    assert_int_equal(status, wanted);
    return (int)json_integer_value(json_object_get(json, "made"));
}

static void a_key_makes_one_thing(void **state)
{
    char longest[202];

    memset(longest, 'k', 201);
    longest[201] = '\0';
    call = "POST /things/1";
    made = 0;
    assert_int_equal(thing("a", "{}", 202), 1);
    assert_int_equal(thing("a", "{}", 202), 1); /* with the status of the first, too */
    assert_int_equal(thing("b", "{}", 202), 2);
    assert_int_equal(thing(NULL, "{}", 202), 3);
    assert_int_equal(thing(NULL, "{}", 202), 4);
    thing("a", "{ }", 409);
    call = "POST /things/2";
    thing("a", "{}", 409);
    thing("a b", "{}", 400);
    thing("", "{}", 400);
    thing("\xc3\xa4", "{}", 400);
    thing(longest, "{}", 400);
    assert_int_equal(thing(longest + 1, "{}", 202), 5);
    assert_int_equal(thing(longest + 1, "{}", 202), 5);
}

/* It is shown once, and a repeated call says so. */
static void a_token_is_shown_once(void **state)
{
    struct asked asked = {.body = "{\"role\": \"reader\"}", .caller = owner, .headers = {{"Idempotency-Key", "k"}}};
    int status;
    const json_t *json = ask(tokens_post, &asked, &status);

    assert_int_equal(status, 201);
    assert_non_null(text_of(json, "token"));
    json = ask(tokens_post, &asked, &status);
    assert_int_equal(status, 409);
    assert_string_equal(text_of(json, "code"), "token_shown");
    assert_null(text_of(json, "token"));
}

/* What cannot be stored was not done, and nobody is told that it was. */
static void nothing_is_done_by_halves(void **state)
{
    const struct caller session = {.role = TOKEN_READER, .session = 1}, ended = {.role = TOKEN_READER, .session = 99};
    char body[128];
    int status;
    const json_t *json;

    is_told_that_nothing_was_done(logins_post, &(struct asked){.caller = owner});
    snprintf(body, sizeof body, "{\"login\": \"%s\"}", text_of(post(logins_post, NULL, &owner, 201), "login"));
    is_told_that_nothing_was_done(sessions_post, &(struct asked){.body = body, .caller = owner});
    begin_session();
    is_told_that_the_store_fails(session_current_get, &(struct asked){.caller = session});
    json = ask(session_current_get, &(struct asked){.caller = session}, &status);
    assert_int_equal(status, 200);
    assert_int_equal(json_integer_value(json_object_get(json, "id")), 1);
    ask(session_current_get, &(struct asked){.caller = ended}, &status);
    assert_int_equal(status, 404);
    ask(session_current_get, &(struct asked){.caller = owner}, &status);
    assert_int_equal(status, 404);
    is_told_that_nothing_was_done(session_current_delete, &(struct asked){.caller = session});
    assert_non_null(header_of_answer("Set-Cookie"));
    is_told_that_nothing_was_done(session_delete, &(struct asked){.ids = {2}, .caller = owner});
    begin_session();
    is_told_that_nothing_was_done(sessions_delete, &(struct asked){.caller = owner});
    is_told_that_nothing_was_done(tokens_post, &(struct asked){.body = "{\"role\": \"reader\"}", .caller = owner, .headers = {{"Idempotency-Key", "k"}}});
    is_told_that_nothing_was_done(token_delete, &(struct asked){.ids = {1}, .caller = owner});
    call = "POST /things/1";
    is_told_that_nothing_was_done(make_thing, &(struct asked){.body = "{}", .headers = {{"Idempotency-Key", "another"}}});
}

static void what_is_no_token_is_not_made(void **state)
{
    char body[400];

    post(tokens_post, "{\"role\": \"king\"}", &owner, 422);
    post(tokens_post, "{\"role\": \"reader\", \"label\": 1}", &owner, 422);
    snprintf(body, sizeof body, "{\"role\": \"reader\", \"label\": \"%0*d\"}",
             (int)sizeof((struct token_row *)NULL)->label, 0);
    post(tokens_post, body, &owner, 422);
    snprintf(body, sizeof body, "{\"role\": \"reader\", \"label\": \"%0*d\"}",
             (int)sizeof((struct token_row *)NULL)->label - 1, 0);
    post(tokens_post, body, &owner, 201);
    post(logins_post, "{\"expires\": 5}", &owner, 422);
    post(logins_post, "{\"expires\": \"721h\"}", &owner, 422);
    post(logins_post, "{\"expires\": \"720h\"}", &owner, 201);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_link_is_good_for_five_minutes_and_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(whoever_loses_a_session_is_looked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_token_ends_with_what_it_began, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_key_makes_one_thing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_token_is_shown_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_done_by_halves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_token_is_not_made, set_up, tear_down),
    };

    log_init("sessions", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
