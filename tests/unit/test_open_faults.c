/* Opening a store, new or old, on a disk that fails: for every n, the n-th call of SQLite on files, locks or memory
 * fails, once or for good, or the power is cut there. Either it is opened, or the reason is told and it is opened once
 * the fault is gone; nothing is lost, and there is a whole copy of an old one before anything in it is changed. */
#include "common/log.h"
#include "daemon/store/attempt.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/job.h"
#include "tests/unit/faulty_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *schema_of(sqlite3 *db)
{
    return text_of(db,
                   "SELECT group_concat(sql, char(10)) FROM (SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND "
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

/* The schema as a later release may have it, which walks over rows, fills a new table, and makes one anew: today's has
 * one step alone. */
static struct embedded later[] = {
    {0},
    {.name = "0002-origin.sql", .data = "ALTER TABLE job ADD COLUMN origin TEXT; UPDATE job SET origin = 'before' || id"},
    {.name = "0003-hosts.sql",
     .data = "CREATE TABLE host (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT;"
             "INSERT INTO host SELECT coalesce(host, '-'), count(*) FROM attempt GROUP BY 1;"
             "DROP TABLE cancellation; CREATE TABLE cancellation (ensemble INTEGER NOT NULL, idx INTEGER NOT NULL) STRICT"},
    {0},
};

/* One opening under one fault, then one without. `old`: the database before, NULL for none. false: the fault was not
 * reached. */
static bool open_once(size_t fault, int64_t n, const char *old, const char *schema, const char *books)
{
    const struct store_options options = {.migrations = old != NULL ? later : NULL};
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
    rc = store_open_with(&store, dir, &options, &err);
    opened = rc == 0;
    if (opened)
        store_close(store);
    struck = faultfs_struck();
    if (faults[fault].kind == FAULT_POWER)
        faultfs_restore((uint64_t)n);
    faultfs_disarm();
    if (opened && faults[fault].kind != FAULT_POWER) {
        db = look(path);
        got = text_of(db, "PRAGMA journal_mode");
        MUST(strcmp(got, "wal") == 0, "the journal is %s", got);
        free(got);
        sqlite3_close(db);
    }
    MUST(opened || strncmp(err.code, "store_", 6) == 0, "the code is %s: %s", err.code, err.text);
    MUST(opened || err.text[0], "no reason is told");
    snprintf(copy, sizeof copy, "%s.v1", path);
    if (old != NULL) { /* as long as there is no whole copy, the database is the old one */
        db = look(path);
        if (number_of(db, "PRAGMA user_version") > 1) {
            sqlite3 *before = look(copy);

            is_whole(before);
            got = books_of(before);
            MUST(number_of(before, "PRAGMA user_version") == 1, "the copy is none of before");
            MUST(strcmp(got, books) == 0, "the copy has not everything");
            free(got);
            sqlite3_close(before);
        }
        sqlite3_close(db);
    }

    MUST(store_open_with(&store, dir, &options, &err) == 0, "not opened once the fault is gone: %s", err.text);
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
static void opening_survives(const char *old, int64_t few)
{
    const struct store_options options = {.migrations = old != NULL ? later : NULL};
    struct store *store;
    struct error err;
    char *schema, *books = NULL;
    sqlite3 *db;

    faulty_clear_dir();
    if (old != NULL)
        write_file(old, path);
    if (store_open_with(&store, dir, &options, &err) < 0)
        fail_msg("%s", err.text);
    store_close(store);
    db = look(path);
    schema = schema_of(db);
    if (old != NULL)
        books = books_of(db);
    sqlite3_close(db);
    for (size_t fault = 0; fault < FAULTS; fault++)
        for (int64_t n = 1; open_once(fault, n, old, schema, books); n = after(n, few))
            ;
    free(schema);
    free(books);
}

static void a_new_database_is_made_in_spite_of_faults(void **state)
{
    opening_survives(NULL, 5);
}

static void an_old_database_is_migrated_in_spite_of_faults(void **state)
{
    struct ensemble_row ens = {.name = "kept", .adapter = "local", .stream_key = "0", .count = 4, .width = 2, .next_index = 2, .created_ms = 1};
    struct job_row job = {.adapter = "local", .size = 2, .created_ms = 1};
    struct store *store;
    struct error err;
    char old[96];

    assert_int_equal(store_open(&store, dir, &err), 0);
    assert_int_equal(store_ensemble_insert(store, &ens, "{}", &err), 0);
    job.ensemble = ens.id;
    assert_int_equal(store_job_insert(store, 0x3f9c2a71, &job, &err), 0);
    for (int64_t i = 0; i < 2; i++) {
        struct member_row member = {.ensemble = ens.id, .index = i, .state = MEMBER_RUNNING, .attempts = 1};
        struct attempt_row attempt = {.ensemble = ens.id, .index = i, .number = 1, .job = job.id, .submitted_ms = 5};

        assert_int_equal(store_member_put(store, &member, &err), 0);
        assert_int_equal(store_attempt_insert(store, &attempt, &err), 0);
    }
    assert_int_equal(store_commit(store, &err), 0);
    store_close(store);
    snprintf(old, sizeof old, "%s/old.db", dir);
    write_file(path, old);
    later[0] = store_migrations[0];
    opening_survives(old, 5);
}

#define IN_A_DIR(test) cmocka_unit_test_setup_teardown(test, faulty_new_dir, faulty_remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_DIR(a_new_database_is_made_in_spite_of_faults),
        IN_A_DIR(an_old_database_is_migrated_in_spite_of_faults),
    };

    log_init("faults", getenv("FAULT_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    if (faultfs_install(false) < 0)
        return 99;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
