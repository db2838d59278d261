/* Opening a store, new or old, on a disk that fails: for every n, the n-th call of SQLite on files, locks or memory fails,
 * once or for good, or the power is cut there. Either it is opened, or the reason is told and it is opened once the fault is
 * gone; nothing is lost, and there is a whole copy of an old one before anything in it is changed. */
#include "common/log.h"
#include "daemon/store/store.h"
#include "tests/unit/faulty_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *schema_of(sqlite3 *db)
{
    return text_of(db, "SELECT group_concat(sql, char(10)) FROM (SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND "
                       "name NOT LIKE 'sqlite_%' ORDER BY type, name)");
}

static char *books_of(sqlite3 *db)
{
    return text_of(db, "SELECT (SELECT group_concat(id || name || state || spec || count) FROM ensemble) || "
                       "(SELECT group_concat(ensemble || state || n) FROM tally) || "
                       "(SELECT group_concat(ensemble || idx || state || attempts) FROM member) || "
                       "(SELECT count(*) || group_concat(name || state) FROM job) || "
                       "(SELECT group_concat(idx || number || coalesce(outcome, '-') || coalesce(reason, '-')) FROM attempt) || "
                       "(SELECT value FROM meta WHERE key = 'instance')");
}

/* One opening under one fault, then one without. `old`: the database before, NULL for none. false: the fault was not
 * reached. */
static bool open_once(size_t fault, int64_t n, const char *old, int version, const char *schema, const char *books)
{
    struct store *store = NULL;
    struct error err;
    char *got, copy[128];
    sqlite3 *db;
    bool struck, opened;
    int rc;

    faulty_clear_dir();
    assert_int_equal(faultfs_install(n % 5 == 0), 0);
    if (old != NULL)
        write_file(old, path);
    snprintf(place, sizeof place, "opening %s database, %s at %lld", old ? "an old" : "a new", faults[fault].name,
             (long long)n);
    faultfs_arm(faults[fault].kind, n, faults[fault].times);
    rc = store_open(&store, dir, &err);
    opened = rc == 0;
    if (opened)
        store_close(store);
    struck = faultfs_struck();
    if (faults[fault].kind == FAULT_POWER)
        faultfs_restore((uint64_t)n);
    faultfs_disarm();
    MUST(opened || strncmp(err.code, "store_", 6) == 0, "the code is %s: %s", err.code, err.text);
    MUST(opened || err.text[0], "no reason is told");
    snprintf(copy, sizeof copy, "%s.v%d", path, version);
    if (old != NULL) { /* as long as there is no whole copy, the database is the old one */
        db = look(path);
        if (number_of(db, "PRAGMA user_version") > version) {
            sqlite3 *before = look(copy);

            is_whole(before);
            got = books_of(before);
            MUST(number_of(before, "PRAGMA user_version") == version, "the copy is none of before");
            MUST(strcmp(got, books) == 0, "the copy has not everything");
            free(got);
            sqlite3_close(before);
        }
        sqlite3_close(db);
    }

    MUST(store_open(&store, dir, &err) == 0, "not opened once the fault is gone: %s", err.text);
    store_close(store);
    db = look(path);
    is_whole(db);
    got = schema_of(db);
    MUST(strcmp(got, schema) == 0, "the schema is another one");
    free(got);
    if (books != NULL) {
        got = books_of(db);
        MUST(strcmp(got, books) == 0, "something is lost");
        free(got);
    }
    sqlite3_close(db);
    return struck;
}

/* `few`: of how many calls in a row each is tried. */
static void opening_survives(const char *old, int version, int64_t few)
{
    struct store *store;
    struct error err;
    char *schema, *books = NULL;
    sqlite3 *db;

    faulty_clear_dir();
    if (old != NULL)
        write_file(old, path);
    if (store_open(&store, dir, &err) < 0)
        fail_msg("%s", err.text);
    store_close(store);
    db = look(path);
    schema = schema_of(db);
    if (old != NULL)
        books = books_of(db);
    sqlite3_close(db);
    for (size_t fault = 0; fault < FAULTS; fault++)
        for (int64_t n = 1; open_once(fault, n, old, version, schema, books); n = after(n, few))
            ;
    free(schema);
    free(books);
}

static void a_new_database_is_made_in_spite_of_faults(void **state)
{
    opening_survives(NULL, 0, 8);
}

static void a_kept_database_is_migrated(int version, int64_t few)
{
    char command[512], old[96];

    snprintf(old, sizeof old, "%s/old.db", dir);
    snprintf(command, sizeof command, "gzip -dc '%s/tests/data/stretto-v%d.db.gz' >'%s'", getenv("srcdir") ?: ".", version, old);
    assert_int_equal(system(command), 0);
    opening_survives(old, version, few);
}

static void the_first_database_is_migrated_in_spite_of_faults(void **state)
{
    a_kept_database_is_migrated(1, 8);
}

static void the_fourth_database_is_migrated_in_spite_of_faults(void **state)
{
    a_kept_database_is_migrated(4, 3); /* most of its steps are those of the first one */
}

#define IN_A_DIR(test) cmocka_unit_test_setup_teardown(test, faulty_new_dir, faulty_remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_DIR(a_new_database_is_made_in_spite_of_faults),
        IN_A_DIR(the_first_database_is_migrated_in_spite_of_faults),
        IN_A_DIR(the_fourth_database_is_migrated_in_spite_of_faults),
    };

    log_init("faults", getenv("FAULT_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    if (faultfs_install(false) < 0)
        return 99;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
