/* Migrations, by made-up ones: those that are built in have one step alone until there has been a release. */
#include "daemon/store/ensemble.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64], path[96], copy[100];
static struct embedded migrations[] = {
    {0},
    {.name = "0002-colours.sql", .data = "ALTER TABLE ensemble ADD COLUMN colour TEXT; UPDATE ensemble SET colour = 'red of ' || name"},
    {.name = "0003-shades.sql", .data = "CREATE TABLE shade (name TEXT PRIMARY KEY) STRICT; INSERT INTO shade SELECT colour FROM ensemble"},
    {0},
};
static struct embedded mistaken[] = {
    {0},
    {.name = "0002-mistake.sql", .data = "ALTER TABLE ensemble ADD COLUMN colour TEXT; DELETE FROM ensemble; INSERT INTO nowhere VALUES (1)"},
    {0},
};

/* A database of version 1 with an ensemble. */
static int new_database(void **state)
{
    struct ensemble_row row = {.name = "kept", .adapter = "local", .stream_key = "0", .count = 3, .width = 1, .created_ms = 1};
    struct store *store;
    struct error err;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/stretto.db", dir);
    snprintf(copy, sizeof copy, "%s.v1", path);
    migrations[0] = mistaken[0] = store_migrations[0];
    if (store_open(&store, dir, &err) < 0 || store_ensemble_insert(store, &row, "{}", &err) < 0 ||
        store_commit(store, &err) < 0)
        return -1;
    store_close(store);
    return access(copy, F_OK) == 0 ? -1 : 0; /* a new database has nothing that is to be kept */
}

static int remove_database(void **state)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static int open_as_of(const struct embedded *table, struct error *err)
{
    const struct store_options options = {.migrations = table};
    struct store *store;
    int rc = store_open_with(&store, dir, &options, err);

    if (rc == 0)
        store_close(store);
    return rc;
}

static void says(const char *file, const char *sql, const char *wanted)
{
    sqlite3_stmt *stmt;
    sqlite3 *db;

    assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(stmt, 0), wanted);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

static void each_step_is_taken_once_in_order(void **state)
{
    struct error err;

    assert_int_equal(open_as_of(migrations, &err), 0);
    says(path, "PRAGMA user_version", "3");
    says(path, "SELECT name FROM shade", "red of kept");
    assert_int_equal(open_as_of(migrations, &err), 0);
    says(path, "SELECT count(*) FROM shade", "1");
}

static void a_copy_of_before_is_kept_for_its_owner_alone(void **state)
{
    struct stat st;
    struct error err;

    assert_int_equal(open_as_of(migrations, &err), 0);
    assert_int_equal(stat(copy, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    says(copy, "PRAGMA user_version", "1");
    says(copy, "SELECT name FROM ensemble", "kept");
    says(copy, "SELECT count(*) FROM pragma_table_info('ensemble') WHERE name = 'colour'", "0");
}

static void a_step_that_fails_leaves_the_database_as_it_was(void **state)
{
    struct error err;

    assert_int_equal(open_as_of(mistaken, &err), -1);
    assert_string_equal(err.code, "store_io");
    assert_non_null(strstr(err.text, "0002-mistake.sql"));
    says(path, "PRAGMA user_version", "1");
    says(path, "SELECT name FROM ensemble", "kept");
    says(path, "SELECT count(*) FROM pragma_table_info('ensemble') WHERE name = 'colour'", "0");
    assert_int_equal(open_as_of(migrations, &err), 0); /* and the way on is open */
}

static void an_older_program_refuses_it(void **state)
{
    struct error err;

    assert_int_equal(open_as_of(migrations, &err), 0);
    assert_int_equal(open_as_of(NULL, &err), -1);
    assert_string_equal(err.code, "store_newer");
    says(path, "SELECT name FROM shade", "red of kept");
}

#define ON_A_DATABASE(test) cmocka_unit_test_setup_teardown(test, new_database, remove_database)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_DATABASE(each_step_is_taken_once_in_order),
        ON_A_DATABASE(a_copy_of_before_is_kept_for_its_owner_alone),
        ON_A_DATABASE(a_step_that_fails_leaves_the_database_as_it_was),
        ON_A_DATABASE(an_older_program_refuses_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
