/* Flushes of a log that are put off: what cannot be, and what one that failed means. */
#include "common/log.h"
#include "daemon/store/event.h"
#include "daemon/store/gather.h"
#include "daemon/store/internal.h"
#include "tests/unit/faulty_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOTES 12
#define INDEX_BYTES (64 << 10) /* that the index of the log has from the beginning */
#define SALTS_AT 16 /* of the log's header: two numbers that each of its lives draws */
#define SALTS 8

static void read_salts(unsigned char out[SALTS])
{
    char name[128];
    FILE *f;

    snprintf(name, sizeof name, "%s-wal", path);
    f = fopen(name, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, SALTS_AT, SEEK_SET), 0);
    assert_int_equal(fread(out, 1, SALTS, f), SALTS);
    fclose(f);
}

static void note(struct store *store, int n)
{
    struct error err;

    assert_int_equal(store_event_add(store, 1, "note", n, -1, NULL, &err), 0);
    assert_int_equal(store_commit(store, &err), 0);
}

/* Frames of the new life behind the header of the old one would be the end of the log for whoever reads it, and old
 * frames before them be taken for changes: of pages that have been changed since. */
static void the_header_of_a_new_life_is_never_put_off(void **state)
{
    unsigned char old[SALTS], new[SALTS], kept[SALTS];
    char template[96];
    struct store *store;
    struct error err;

    snprintf(template, sizeof template, "%s/template.db", dir);
    assert_int_equal(store_open(&store, dir, &err), 0);
    store_close(store);
    write_file(path, template);
    for (uint64_t seed = 1; seed <= 32; seed++) { /* each another choice of what the disk has taken */
        int in_log = 0, in_database = 0;
        sqlite3 *db;
        int64_t there;

        faulty_clear_dir();
        write_file(template, path);
        snprintf(place, sizeof place, "power cut with seed %lld", (long long)seed);
        faultfs_arm(FAULT_POWER, INT64_MAX, 1);
        assert_int_equal(store_open(&store, dir, &err), 0);
        for (int i = 1; i < NOTES; i++)
            note(store, i);
        read_salts(old);
        assert_int_equal(sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &in_database), 0);
        assert_true(in_log > 0 && in_database == in_log);
        store_defer_flush(store, true);
        note(store, NOTES);
        MUST(store_owes_flush(store), "nothing is put off");
        read_salts(new);
        MUST(memcmp(old, new, SALTS) != 0, "the log has not begun anew");
        faultfs_arm(FAULT_POWER, 1, 1); /* whatever comes next is never made */
        store_close(store);
        faultfs_restore(seed);
        read_salts(kept);
        MUST(memcmp(new, kept, SALTS) == 0, "the header of the log was not flushed");
        db = look(path);
        is_whole(db);
        there = number_of(db, "SELECT count(*) FROM event WHERE kind = 'note'");
        MUST(there == NOTES - 1 || there == NOTES, "%lld notes are there", (long long)there);
        sqlite3_close(db);
    }
}

/* The system tells once of what it could not write, and takes it for written from then on. */
static void no_flush_makes_good_for_one_that_failed(void **state)
{
    struct store *store;
    struct error err;
    int64_t newest = 0;

    snprintf(place, sizeof place, "a flush that fails");
    assert_int_equal(store_open(&store, dir, &err), 0);
    store_defer_flush(store, true);
    for (int i = 1; !store_owes_flush(store); i++) { /* the log's header is not put off */
        newest = store_event_newest(store);
        note(store, i);
    }
    faultfs_arm(FAULT_IO, 1, 1);
    MUST(store_flush(store, &err) < 0 && strcmp(err.code, "store_io") == 0, "it went well");
    faultfs_disarm();
    MUST(store_flush(store, &err) < 0 && strcmp(err.code, "store_io") == 0, "the next one went well");
    MUST(store_flush_owed(store, &err) < 0 && strcmp(err.code, "store_io") == 0, "what is owed went well");
    MUST(store_owes_flush(store) && store_event_newest(store) == newest, "what is not on the disk is told");
    store_close(store);
}

static int64_t log_size(void)
{
    char name[128];
    struct stat st;

    snprintf(name, sizeof name, "%s-wal", path);
    assert_int_equal(stat(name, &st), 0);
    return st.st_size;
}

/* A daemon that is killed leaves a log that is not over, with room behind it: the next one has that room, and takes
 * no more. */
static void the_log_does_not_grow_each_time_a_daemon_is_killed(void **state)
{
    int64_t first = 0;

    for (int i = 0; i < 8; i++) {
        struct store *store;
        struct error err;
        int status;
        pid_t child = fork();

        if (child == 0) {
            if (store_open(&store, dir, &err) < 0 || store_check_room(store, &err) < 0 ||
                store_accept(store, &err) < 0 || store_event_add(store, 1, "note", i, -1, NULL, &err) < 0 ||
                store_commit(store, &err) < 0)
                _exit(1);
            _exit(0); /* without closing it */
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        if (i == 0)
            first = log_size();
        assert_int_equal(log_size(), first);
    }
}

static struct stat index_of(char name[128])
{
    struct stat st;

    snprintf(name, 128, "%s-shm", path);
    assert_int_equal(stat(name, &st), 0);
    return st;
}

/* The index has its room from the beginning, and what a killed daemon left in it is worth nothing: the log was written
 * on since it was copied. */
static void an_index_keeps_its_room_and_nothing_else(void **state)
{
    char name[128], old[140];
    struct store *store;
    struct error err;
    int status;
    pid_t child = fork();

    if (child == 0) {
        if (store_open(&store, dir, &err) < 0)
            _exit(1);
        note(store, 1);
        snprintf(old, sizeof old, "%s/old", dir);
        snprintf(name, sizeof name, "%s-shm", path);
        write_file(name, old);
        for (int i = 2; i <= NOTES; i++)
            note(store, i);
        _exit(0); /* without closing it */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(index_of(name).st_blocks * 512 >= INDEX_BYTES);
    snprintf(old, sizeof old, "%s/old", dir);
    write_file(old, name);
    unlink(old);
    assert_int_equal(store_open(&store, dir, &err), 0);
    assert_true(index_of(name).st_blocks * 512 >= INDEX_BYTES);
    assert_int_equal(number_of(store->db, "SELECT count(*) FROM event WHERE kind = 'note'"), NOTES);
    is_whole(store->db);
    store_close(store);
}

/* A rollback journal is no log: it is flushed when SQLite asks for that, and ends the transaction by becoming empty. */
static void rollback_journals_are_left_to_sqlite(void **state)
{
    char plain[96], name[128];
    struct stat st;
    sqlite3 *db;

    snprintf(plain, sizeof plain, "%s/plain.db", dir);
    snprintf(name, sizeof name, "%s-journal", plain);
    assert_int_equal(sqlite3_open_v2(plain, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, gather_vfs()), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode = TRUNCATE; CREATE TABLE t (n); INSERT INTO t VALUES (1)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(stat(name, &st), 0);
    assert_int_equal(st.st_size, 0);
    assert_null(gather_log(db));
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_header_of_a_new_life_is_never_put_off, faulty_new_dir, faulty_remove_dir),
        cmocka_unit_test_setup_teardown(the_log_does_not_grow_each_time_a_daemon_is_killed, faulty_new_dir,
                                        faulty_remove_dir),
        cmocka_unit_test_setup_teardown(no_flush_makes_good_for_one_that_failed, faulty_new_dir, faulty_remove_dir),
        cmocka_unit_test_setup_teardown(an_index_keeps_its_room_and_nothing_else, faulty_new_dir, faulty_remove_dir),
        cmocka_unit_test_setup_teardown(rollback_journals_are_left_to_sqlite, faulty_new_dir, faulty_remove_dir),
    };

    log_init("gather", getenv("FAULT_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_NONE);
    if (faultfs_install(true) < 0)
        return 99;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
