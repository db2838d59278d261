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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whoever_loses_a_session_is_looked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_key_makes_one_thing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_done_by_halves, set_up, tear_down),
    };

    log_init("sessions", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
