/* Those who were let in: what they may do, how long, and what is noted of them. */
#include "api/access.h"
#include "api/routes.h"
#include "api/token.h"
#include "common/log.h"
#include "daemon/store/session.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char dir[64];
static struct store *store;
static struct api_config config;
static struct access access_;
static int64_t now;
static bool troubled;

const struct error *turn_trouble(const struct turn *turn)
{
    static const struct error trouble = {.code = "store_full"};

    return troubled ? &trouble : NULL;
}

static int64_t clock_ms(void *arg)
{
    return now;
}

/* In place of libmicrohttpd's: the header of the only connection. */
static char authorization[200];

const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind, const char *key)
{
    return strcmp(key, "Authorization") == 0 && authorization[0] != '\0' ? authorization : NULL;
}

static int set_up(void **state)
{
    struct error err;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL || store_open(&store, dir, &err) < 0)
        return -1;
    now = 1000000;
    troubled = false;
    config = (struct api_config){.store = store, .now_ms = clock_ms};
    access_ = (struct access){.config = &config};
    return 0;
}

static int tear_down(void **state)
{
    char rm[128];

    store_close(store);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static struct caller bearer(char letter, int64_t expires_ms)
{
    struct token_row row = {.role = TOKEN_READER, .created_ms = 1, .expires_ms = expires_ms};
    struct error err;

    memset(row.hash, letter, 64);
    assert_int_equal(store_token_insert(store, &row, &err), 0);
    assert_int_equal(store_commit(store, &err), 0);
    return (struct caller){.role = row.role, .token = row.id, .expires_ms = expires_ms, .revocations = access_.revocations};
}

static struct caller browser(char letter, int64_t token)
{
    struct session_row row = {.role = TOKEN_READER, .token = token, .path = "/", .created_ms = 1, .expires_ms = 2000000};
    struct error err;

    memset(row.hash, letter, 64);
    assert_int_equal(store_session_insert(store, &row, &err), 0);
    assert_int_equal(store_commit(store, &err), 0);
    return (struct caller){.role = row.role, .token = token, .session = row.id, .expires_ms = row.expires_ms,
                           .revocations = access_.revocations};
}

/* Where the database cannot be asked nobody loses a right, and it is asked again. */
static void trouble_of_the_database_is_nobodys_fault(void **state)
{
    struct caller gone = bearer('a', 0), stays = bearer('b', 0);
    struct error err;

    assert_int_equal(store_token_revoke(store, gone.token, now, &err), 0);
    assert_int_equal(store_exec(store, &err, "ALTER TABLE token RENAME TO elsewhere", ""), 0);
    assert_int_equal(store_commit(store, &err), 0);
    access_.revocations++;
    assert_true(access_holds(&access_, &gone));
    assert_true(access_holds(&access_, &stays));
    assert_int_equal(store_exec(store, &err, "ALTER TABLE elsewhere RENAME TO token", ""), 0);
    assert_int_equal(store_commit(store, &err), 0);
    assert_false(access_holds(&access_, &gone));
    assert_true(access_holds(&access_, &stays));
}

static int64_t last_used(const struct caller *caller)
{
    struct session_row session;
    struct token_row token;
    struct error err;

    if (caller->session != 0) {
        assert_int_equal(store_session_get(store, caller->session, &session, &err), 1);
        return session.last_used_ms;
    }
    assert_int_equal(store_token_get(store, caller->token, &token, &err), 1);
    return token.last_used_ms;
}

/* The caller of a later request, as access_check() makes it. */
static void comes_again(struct caller *caller, int64_t ms)
{
    now = ms;
    caller->last_used_ms = last_used(caller);
    access_used(&access_, caller);
}

static void it_is_noted_once_a_minute_that_a_right_was_used(void **state)
{
    struct caller callers[] = {bearer('a', 0), browser('b', 0), browser('c', 1)};

    for (size_t i = 0; i < 3; i++) {
        struct caller *caller = &callers[i];

        comes_again(caller, 1000000);
        assert_int_equal(last_used(caller), 1000000);
        comes_again(caller, 1059999);
        assert_int_equal(last_used(caller), 1000000);
        comes_again(caller, 1060000);
        assert_int_equal(last_used(caller), 1060000);
        comes_again(caller, 500000); /* the clock was set back */
        assert_int_equal(last_used(caller), 500000);
    }
    assert_int_equal(last_used(&callers[0]), 500000); /* a session is not its token */
    comes_again(&callers[2], 700000);
    assert_int_equal(last_used(&callers[0]), 500000);
}

/* What nobody waits for must not undo what somebody does wait for. */
static void nothing_is_noted_while_changes_cannot_be_stored(void **state)
{
    struct caller caller = bearer('a', 0), owner = {.role = TOKEN_ADMIN};

    troubled = true;
    comes_again(&caller, 1000000);
    assert_int_equal(last_used(&caller), 0);
    assert_false(store_dirty(store));
    troubled = false;
    access_used(&access_, &owner);
    assert_false(store_dirty(store));
}

static void comes_with(int64_t token, const char *secret)
{
    char spelt[TOKEN_SIZE];

    token_spell(token, secret, spelt);
    snprintf(authorization, sizeof authorization, "Bearer %s", spelt);
}

/* Nobody gets in because the database cannot be asked; nor does that count as a try of theirs. */
static void a_token_that_cannot_be_read_lets_nobody_in(void **state)
{
    struct token_row row = {.role = TOKEN_READER, .created_ms = 1};
    char secret[TOKEN_SECRET_SIZE];
    struct caller caller;
    struct error err;

    token_secret(secret);
    token_hash(secret, row.hash);
    assert_int_equal(store_token_insert(store, &row, &err), 0);
    assert_int_equal(store_exec(store, &err, "ALTER TABLE token RENAME TO elsewhere", ""), 0);
    assert_int_equal(store_commit(store, &err), 0);
    comes_with(row.id, secret);
    for (int i = 0; i < REFUSALS_MAX + 3; i++) {
        assert_int_equal(access_bearer(&access_, NULL, &caller, &err), -1);
        assert_int_equal(strncmp(err.code, "store_", 6), 0);
    }
    assert_int_equal(store_exec(store, &err, "ALTER TABLE elsewhere RENAME TO token", ""), 0);
    assert_int_equal(store_commit(store, &err), 0);
    assert_int_equal(access_bearer(&access_, NULL, &caller, &err), 0);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(trouble_of_the_database_is_nobodys_fault),
        WITH_STORE(it_is_noted_once_a_minute_that_a_right_was_used),
        WITH_STORE(nothing_is_noted_while_changes_cannot_be_stored),
        WITH_STORE(a_token_that_cannot_be_read_lets_nobody_in),
    };

    log_init("callers", LOG_LEVEL_NONE);
    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
