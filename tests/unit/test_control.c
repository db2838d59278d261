/* Whose word a control message is. */
#include "daemon/control_key.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64];

static struct store *must_open(void)
{
    struct store *store = NULL;
    struct error err;

    if (store_open(&store, dir, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}

static struct control_message say(const char *job, const char *key)
{
    struct control_message message = {.what = CONTROL_EXIT};

    snprintf(message.job, sizeof message.job, "%s", job);
    snprintf(message.key, sizeof message.key, "%s", key);
    return message;
}

static void a_key_is_good_for_its_own_job_only(void **state)
{
    struct store *store = must_open();
    char key[CONTROL_KEY_SIZE], other[CONTROL_KEY_SIZE];
    struct control_message message;

    control_key_make(store, "st-1-2", key);
    control_key_make(store, "st-1-3", other);
    assert_true(control_key_valid(key));
    assert_string_not_equal(key, other);
    message = say("st-1-2", key);
    assert_true(control_key_fits(store, &message));
    message = say("st-1-3", key);
    assert_false(control_key_fits(store, &message));
    message = say("st-1-2", "");
    assert_false(control_key_fits(store, &message));
    for (int i = 0; i < CONTROL_KEY_SIZE - 1; i++) { /* every digit counts */
        message = say("st-1-2", key);
        message.key[i] = message.key[i] == '0' ? '1' : '0';
        assert_false(control_key_fits(store, &message));
    }
    store_close(store);
}

static void a_restart_changes_no_key_and_another_database_has_others(void **state)
{
    struct store *store = must_open();
    char key[CONTROL_KEY_SIZE], again[CONTROL_KEY_SIZE], path[96];

    control_key_make(store, "st-1-2", key);
    store_close(store);
    store = must_open();
    control_key_make(store, "st-1-2", again);
    store_close(store);
    assert_string_equal(key, again);
    snprintf(path, sizeof path, "%s/stretto.db", dir);
    assert_int_equal(unlink(path), 0);
    store = must_open();
    control_key_make(store, "st-1-2", again);
    store_close(store);
    assert_string_not_equal(key, again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_good_for_its_own_job_only),
        cmocka_unit_test(a_restart_changes_no_key_and_another_database_has_others),
    };
    char rm[128];
    int rc;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return 1;
    rc = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm) == 0 ? rc : 1;
}
