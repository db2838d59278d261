/* Whose a run directory is, and whether the database fits to it. */
#include "daemon/run_books.h"
#include "common/files.h"
#include "common/log.h"
#include "daemon/run_claim.h"
#include "daemon/run_mark.h"
#include "daemon/store/ensemble.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64], run_dir[80], owner[96], host[256], first_state[80], other_state[80];
static struct store *first, *other; /* databases of two state directories */

static struct store *must_open(const char *state_dir)
{
    struct store *store = NULL;
    struct error err;

    if (mkdir(state_dir, 0700) < 0 || store_open(&store, state_dir, &err) < 0)
        fail_msg("%s cannot be opened", state_dir);
    return store;
}

static int set_up(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL || gethostname(host, sizeof host - 1) < 0)
        return -1;
    snprintf(run_dir, sizeof run_dir, "%s/run", dir);
    snprintf(owner, sizeof owner, "%s/owner.json", run_dir);
    snprintf(first_state, sizeof first_state, "%s/first", dir);
    snprintf(other_state, sizeof other_state, "%s/other", dir);
    first = must_open(first_state);
    other = must_open(other_state);
    return mkdir(run_dir, 0700);
}

static int tear_down(void **state)
{
    char rm[128];

    store_close(first);
    store_close(other);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void make_ensemble(int id)
{
    char path[128];

    snprintf(path, sizeof path, "%s/e%d", run_dir, id);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* The id that the next ensemble would get. */
static int64_t next_id(struct store *store)
{
    struct ensemble_row row = {.name = "x", .adapter = "local", .stream_key = "0", .count = 1, .width = 1, .created_ms = 1};
    struct error err;

    assert_int_equal(store_ensemble_insert(store, &row, "{}", &err), 0);
    assert_int_equal(store_commit(store, &err), 0);
    return row.id;
}

static void claim(struct store *store, const char *state_dir, const char *code)
{
    struct error err = {.code = ""};
    const struct run_books books = {.run_dir = run_dir, .state_dir = state_dir, .rows_dir = dir};
    int rc = run_books_open(store, &books, &err);

    if (strcmp(rc < 0 ? err.code : "", code) != 0)
        fail_msg("%s (%s), not %s", rc < 0 ? err.text : "claimed", err.code, code);
    assert_false(store_dirty(store));
}

static void write_owner(const char *database, const char *state_dir, const char *on)
{
    json_t *json = json_pack("{s:s, s:s, s:s}", "database", database, "state_dir", state_dir, "host", on);
    struct error err;

    assert_int_equal(file_write_json(owner, json, 0600, &err), 0);
    json_decref(json);
}

static void owner_is(struct store *store)
{
    struct error err;
    json_t *json = file_read_json(owner, &err);

    assert_string_equal(json_string_value(json_object_get(json, "database")), store_instance(store));
    json_decref(json);
}

/* The same state directory of the same host: the database that was in it is gone. */
static void a_database_that_is_gone_has_nothing(void **state)
{
    make_ensemble(12);
    make_ensemble(3);
    write_owner("00000000", first_state, host);
    claim(first, first_state, "");
    owner_is(first);
    assert_int_equal(next_id(first), 13); /* what it has left there is nobody's */
    write_owner("00000000", first_state, "another-host");
    claim(first, first_state, "run_dir_taken");
    write_owner("00000000", other_state, host);
    claim(first, first_state, "run_dir_taken");
    write_owner("00000000", "", "");
    claim(first, first_state, "run_dir_taken");
    write_owner(store_instance(first), "/moved/since", "another-host"); /* it is known by its name, wherever it is */
    claim(first, first_state, "");
}

/* A name that is no UTF-8, and a directory that is not there: both are used as they are. */
static void what_cannot_be_noted_is_used_all_the_same(void **state)
{
    claim(first, "/state/\xff", "");
    owner_is(first);
    assert_int_equal(unlink(owner), 0);
    assert_int_equal(rmdir(run_dir), 0);
    claim(first, first_state, "run_dir_other"); /* it has used that one, which had its claim */
    claim(other, other_state, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_database_that_is_gone_has_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_noted_is_used_all_the_same, set_up, tear_down),
    };

    log_init("run_claim", LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
