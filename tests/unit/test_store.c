#include "common/files.h"
#include "daemon/store/attempt.h"
#include "daemon/store/cancellation.h"
#include "daemon/store/bulk.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/idempotency.h"
#include "daemon/store/internal.h"
#include "daemon/store/job.h"
#include "daemon/store/place.h"
#include "tests/unit/store_members.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];

static int new_dir(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char rm[128];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

struct store *must_open(void)
{
    struct store *store = NULL;
    struct error err;

    if (store_open(&store, dir, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}

struct ensemble_row add_ensemble(struct store *store, int64_t count)
{
    struct ensemble_row row = {.name = "x", .adapter = "local", .stream_key = "0", .count = count, .width = 1,
                               .created_ms = 1};
    struct error err;

    assert_int_equal(store_ensemble_insert(store, &row, "{}", &err), 0);
    return row;
}

static void one_daemon_per_state_directory(void **state)
{
    struct store *store = must_open(), *second;
    struct error err;
    int status;
    pid_t pid = fork(); /* another process: the lock is one between processes */

    if (pid == 0)
        _exit(store_open(&second, dir, &err) == -1 && strcmp(err.code, "store_locked") == 0 ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    store_close(store);
    store_close(must_open());
}

static int on_nfs(const char *path, struct statfs *out)
{
    out->f_type = 0x6969;
    return 0;
}

static int not_at_all(const char *path, struct statfs *out)
{
    errno = EIO;
    return -1;
}

static void where_a_database_may_live(void **state)
{
    static const unsigned long networks[] = {0x6969, 0x0bd00bd0, 0x47504653, 0xff534d42, 0xffffffffff534d42, 0x01021997,
                                             0x65735546, 0x19830326};
    static const unsigned long local[] = {0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1};
    enum store_journal journal;
    struct error err;

    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        assert_int_equal(store_place_judge("/s", networks[i], false, &journal, &err), -1);
        assert_string_equal(err.code, "store_network");
        assert_non_null(strstr(err.text, store_place_network(networks[i])));
        assert_int_equal(store_place_judge("/s", networks[i], true, &journal, &err), 0);
        assert_int_equal(journal, STORE_JOURNAL_ROLLBACK);
    }
    for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
        assert_int_equal(store_place_judge("/s", local[i], i % 2, &journal, &err), 0);
        assert_int_equal(journal, STORE_JOURNAL_WAL);
    }
}

static bool there(const char *name)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void pragma_is(struct store *store, const char *sql, const char *expected)
{
    struct error err;
    sqlite3_stmt *stmt = store_query(store, &err, sql, "");
    char got[32];

    assert_int_equal(store_row(store, stmt, &err), 1);
    store_text(stmt, 0, got, sizeof got);
    store_done(stmt);
    assert_string_equal(got, expected);
}

static void a_network_file_system_is_refused_or_run_safely(void **state)
{
    struct store_options options = {.statfs = on_nfs};
    struct store *store = must_open(), *refused;
    struct ensemble_row row = add_ensemble(store, 3), again;
    struct error err;

    assert_int_equal(store_commit(store, &err), 0);
    assert_true(there("stretto.db-wal"));
    store_close(store);
    assert_int_equal(store_open_with(&refused, dir, &options, &err), -1);
    assert_string_equal(err.code, "store_network");

    options.allow_network = true;
    assert_int_equal(store_open_with(&store, dir, &options, &err), 0);
    pragma_is(store, "PRAGMA journal_mode", "delete");
    pragma_is(store, "PRAGMA locking_mode", "exclusive");
    pragma_is(store, "PRAGMA synchronous", "2");
    assert_int_equal(store_ensemble_get(store, row.id, &again, &err), 1);
    add_ensemble(store, 4);
    assert_false(there("stretto.db-shm") || there("stretto.db-wal"));
    assert_int_equal(store_commit(store, &err), 0);
    store_close(store);

    store = must_open(); /* moved back to a local disk */
    pragma_is(store, "PRAGMA journal_mode", "wal");
    pragma_is(store, "PRAGMA synchronous", "2");
    store_close(store);
    options.statfs = not_at_all;
    assert_int_equal(store_open_with(&refused, dir, &options, &err), -1);
    assert_string_equal(err.code, "store_io");
}

static void newer_databases_are_refused(void **state)
{
    struct store *store = must_open(), *again;
    struct error err;

    assert_int_equal(store_exec(store, &err, "PRAGMA user_version = 4711", ""), 0);
    assert_int_equal(store_commit(store, &err), 0);
    store_close(store);
    assert_int_equal(store_open(&again, dir, &err), -1);
    assert_string_equal(err.code, "store_newer");
}

static void make_database(const char *sql)
{
    char path[128];
    sqlite3 *db;

    snprintf(path, sizeof path, "%s/stretto.db", dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static char *content_of_database(size_t *size)
{
    char path[128], *data;
    struct error err;

    snprintf(path, sizeof path, "%s/stretto.db", dir);
    assert_int_equal(file_read(path, 1 << 20, &data, size, &err), 0);
    return data;
}

/* Refused with a code, and not one byte of it is changed. */
static void is_refused(const char *code)
{
    struct store_options on_network = {.statfs = on_nfs, .allow_network = true}, usual = {0};
    struct store *store;
    struct error err;

    for (int i = 0; i < 2; i++) {
        size_t size, size_after;
        char *before = content_of_database(&size), *after;

        assert_int_equal(store_open_with(&store, dir, i ? &on_network : &usual, &err), -1);
        assert_string_equal(err.code, code);
        assert_non_null(strstr(err.text, "stretto.db"));
        after = content_of_database(&size_after);
        assert_int_equal(size_after, size);
        assert_memory_equal(before, after, size);
        assert_false(there("stretto.db-wal") || there("stretto.db.v3"));
        free(before);
        free(after);
    }
}

static void what_is_none_of_ours_is_left_alone(void **state)
{
    struct error err;
    char path[128];

    make_database("CREATE TABLE ensemble (players TEXT)");
    is_refused("store_foreign");
    make_database("PRAGMA user_version = 3"); /* another program counts its versions, too */
    is_refused("store_foreign");
    snprintf(path, sizeof path, "%s/stretto.db", dir);
    assert_int_equal(file_write_whole(path, "Dear diary, today I was no database, though I am as long as the head of one. I like "
                                            "it here; nobody asks me for anything.", 120, 0600, &err), 0);
    is_refused("store_damaged");
}

/* As somebody else than root, who may write everything. */
static void a_database_that_cannot_be_written_is_refused(void **state)
{
    static const char *const theirs[] = {"", "lock", "stretto.db-wal", "stretto.db-shm"};
    struct store *store = must_open();
    char path[128];
    int status;
    pid_t pid;

    store_close(store);
    if (geteuid() != 0)
        skip();
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, theirs[i]);
        assert_int_equal(chown(path, 65534, 65534), 0);
    }
    assert_int_equal(chmod(dir, 0700), 0);
    snprintf(path, sizeof path, "%s/stretto.db", dir);
    assert_int_equal(chmod(path, 0444), 0);
    pid = fork();
    if (pid == 0) {
        struct error err = {.text = ""};
        bool refused = setgid(65534) == 0 && setuid(65534) == 0 && store_open(&store, dir, &err) == -1;

        _exit(refused && strcmp(err.code, "store_io") == 0 && strstr(err.text, "cannot be written") ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void tallies_follow_every_change(void **state)
{
    struct store *store = must_open();
    struct ensemble_row ens = add_ensemble(store, 10);
    int64_t n[MEMBER_STATE_COUNT];
    struct error err;

    for (int64_t i = 0; i < 4; i++)
        assert_int_equal(store_member_put(store, &(struct member_row){.ensemble = ens.id, .index = i,
                                                                     .state = MEMBER_RUNNING}, &err), 0);
    assert_int_equal(store_member_put(store, &(struct member_row){.ensemble = ens.id, .index = 0,
                                                                 .state = MEMBER_SUCCEEDED}, &err), 0);
    assert_int_equal(store_member_put(store, &(struct member_row){.ensemble = ens.id, .index = 1,
                                                                 .state = MEMBER_PENDING}, &err), 0);
    assert_int_equal(store_tally_get(store, ens.id, n, &err), 0);
    assert_int_equal(n[MEMBER_PENDING], 7);
    assert_int_equal(n[MEMBER_RUNNING], 2);
    assert_int_equal(n[MEMBER_SUCCEEDED], 1);
    assert_int_equal(store_bulk_piece(store, &(struct bulk){.kind = BULK_CANCEL, .ensemble = ens.id}, 100, NULL, &err), 0);
    assert_int_equal(store_tally_get(store, ens.id, n, &err), 0);
    assert_int_equal(n[MEMBER_PENDING], 0);
    assert_int_equal(n[MEMBER_CANCELLED], 7);
    assert_int_equal(store_commit(store, &err), 0);
    store_close(store);
}

/* The schema has the states of common/member_state.h, and a member is handed on in those alone that are final. */
static void the_schema_knows_each_state(void **state)
{
    struct store *store = must_open();
    struct ensemble_row ens = add_ensemble(store, MEMBER_STATE_COUNT);
    int64_t n[MEMBER_STATE_COUNT];
    struct error err;

    for (enum member_state i = 0; i < MEMBER_STATE_COUNT; i++)
        if (store_member_put(store, &(struct member_row){.ensemble = ens.id, .index = i, .state = i}, &err) < 0 ||
            store_commit(store, &err) < 0)
            fail_msg("%s: %s", member_state_name(i), err.text);
    assert_int_equal(store_tally_get(store, ens.id, n, &err), 0);
    for (enum member_state i = 0; i < MEMBER_STATE_COUNT; i++) {
        bool is_taken;

        assert_int_equal(n[i], 1);
        is_taken = store_exec(store, &err, "UPDATE member SET successor = 2 WHERE idx = ?1", "i", (int64_t)i) == 0;
        if ((store_commit(store, &err) == 0 && is_taken) != member_state_is_final(i))
            fail_msg("a member that is %s is handed on, or one that may be is not", member_state_name(i));
    }
    store_close(store);
}

static int64_t number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt;
    int64_t n;

    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    n = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return n;
}

/* Moves are counted in memory, and by nobody else: with the members they are committed, or forgotten; and who cannot
 * count them, as the sqlite3 shell, makes none. */
static void moves_are_counted_with_their_members(void **state)
{
    struct store *store = must_open();
    struct ensemble_row ens = add_ensemble(store, 10), other = add_ensemble(store, 10);
    struct member_row row = {.ensemble = ens.id, .state = MEMBER_RUNNING};
    int64_t n[MEMBER_STATE_COUNT];
    struct error err;
    char path[128];
    sqlite3 *db;

    assert_int_equal(store_member_put(store, &row, &err), 0);
    assert_int_equal(store_commit(store, &err), 0);
    row.state = MEMBER_SUCCEEDED;
    assert_int_equal(store_member_change(store, &row, &err), 0);
    row.ensemble = 4711; /* there is none, and all is rolled back */
    assert_int_equal(store_member_put(store, &row, &err), -1);
    assert_int_equal(store_commit(store, &err), -1);
    row.ensemble = other.id;
    assert_int_equal(store_member_put(store, &row, &err), 0);
    assert_int_equal(store_commit(store, &err), 0); /* nothing but the commit writes it */

    snprintf(path, sizeof path, "%s/stretto.db", dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(number(db, "SELECT n FROM tally WHERE ensemble = 1 AND state = 'running'"), 1);
    assert_int_equal(number(db, "SELECT n FROM tally WHERE ensemble = 1 AND state = 'succeeded'"), 0);
    assert_int_equal(number(db, "SELECT n FROM tally WHERE ensemble = 2 AND state = 'succeeded'"), 1);
    assert_int_equal(number(db, "SELECT n FROM tally WHERE ensemble = 2 AND state = 'pending'"), 9);
    assert_int_equal(sqlite3_exec(db, "UPDATE member SET state = 'failed'", NULL, NULL, NULL), SQLITE_ERROR);
    assert_string_equal(sqlite3_errmsg(db), "no such function: stretto_moved");
    assert_int_equal(number(db, "SELECT count(*) FROM member WHERE state = 'failed'"), 0);
    sqlite3_close(db);

    /* fewer than there are: the tally says so, and nothing of the turn is kept */
    assert_int_equal(store_exec(store, &err, "UPDATE tally SET n = 0 WHERE ensemble = 1 AND state = 'running'", ""), 0);
    assert_int_equal(store_commit(store, &err), 0);
    row.ensemble = ens.id;
    assert_int_equal(store_member_change(store, &row, &err), 0);
    assert_int_equal(store_commit(store, &err), -1);
    assert_int_equal(store_member_get(store, ens.id, 0, &row, &err), 1);
    assert_int_equal(row.state, MEMBER_RUNNING);
    assert_int_equal(store_tally_get(store, ens.id, n, &err), 0);
    assert_int_equal(n[MEMBER_SUCCEEDED], 0);
    store_close(store);
}

/* What cannot be true is refused by the schema, and dooms the whole turn. */
static void impossible_books_are_refused(void **state)
{
    struct store *store = must_open();
    struct ensemble_row ens = add_ensemble(store, 2), other;
    struct job_row job = {.ensemble = ens.id, .adapter = "local", .size = 1, .created_ms = 1};
    struct attempt_row attempt = {.ensemble = ens.id, .number = 1, .submitted_ms = 1};
    struct error err;

    assert_int_equal(store_job_insert(store, 0x3f9c2a71, &job, &err), 0);
    attempt.job = job.id;
    assert_int_equal(store_member_put(store, &(struct member_row){.ensemble = ens.id, .state = MEMBER_SUBMITTED}, &err), 0);
    assert_int_equal(store_attempt_insert(store, &attempt, &err), 0);
    assert_int_equal(store_commit(store, &err), 0);

    other = add_ensemble(store, 5);
    attempt.number = 2; /* while the first is open */
    assert_int_equal(store_attempt_insert(store, &attempt, &err), -1);
    assert_int_equal(store_ensemble_get(store, ens.id, &ens, &err), 1);
    assert_int_equal(store_commit(store, &err), -1);
    assert_int_equal(store_ensemble_get(store, other.id, &other, &err), 0);
    assert_false(store_dirty(store));
    store_close(store);
}

/* What was to be changed by what could not be read would be missing of it. */
static void a_read_that_fails_dooms_what_was_changed_before(void **state)
{
    struct store *store = must_open();
    struct ensemble_row row = add_ensemble(store, 3), found;
    struct error err;

    assert_null(store_query(store, &err, "SELECT nothing FROM nowhere", ""));
    assert_int_equal(store_commit(store, &err), -1);
    assert_non_null(strstr(err.text, "nowhere"));
    assert_int_equal(store_ensemble_get(store, row.id, &found, &err), 0);
    assert_null(store_query(store, &err, "SELECT nothing FROM nowhere", "")); /* nothing was changed */
    row = add_ensemble(store, 3);
    assert_int_equal(store_commit(store, &err), 0);
    assert_int_equal(store_ensemble_get(store, row.id, &found, &err), 1);
    store_close(store);
}

static void what_is_committed_is_there_after_a_crash(void **state)
{
    struct store *store = must_open();
    struct ensemble_row kept = add_ensemble(store, 3), lost;
    struct error err;

    assert_int_equal(store_commit(store, &err), 0);
    lost = add_ensemble(store, 4);
    store_close(store); /* without a commit */
    store = must_open();
    assert_int_equal(store_ensemble_get(store, kept.id, &kept, &err), 1);
    assert_int_equal(kept.count, 3);
    assert_int_equal(store_ensemble_get(store, lost.id, &lost, &err), 0);
    store_close(store);
}

static int64_t ensembles_of(struct store *store)
{
    struct error err;
    sqlite3_stmt *stmt = store_query(store, &err, "SELECT count(*) FROM ensemble", "");
    int64_t n;

    assert_int_equal(store_row(store, stmt, &err), 1);
    n = sqlite3_column_int64(stmt, 0);
    store_done(stmt);
    return n;
}

/* Not less, which a crash would take back; and not later than at the flush, whichever commit that was for. */
static void a_reader_sees_what_is_on_the_disk(void **state)
{
    struct store *store = must_open(), *reader;
    struct error err;
    int64_t n = 0;

    assert_int_equal(store_open_reader(&reader, store, &err), 0);
    store_defer_flush(store, true);
    for (int owed = 0; owed < 4; n++) {
        assert_int_equal(store_exec(store, &err, "DELETE FROM ensemble WHERE id = 4711", ""), 0);
        assert_int_equal(store_commit(store, &err), 0); /* which has nothing to flush */
        assert_false(store_owes_flush(store));
        add_ensemble(store, 1);
        assert_int_equal(ensembles_of(reader), n);
        assert_int_equal(store_commit(store, &err), 0);
        if (store_owes_flush(store)) {
            owed++;
            assert_int_equal(ensembles_of(reader), n);
            assert_int_equal(store_flush_owed(store, &err), 0);
        }
        assert_int_equal(ensembles_of(reader), n + 1);
        if (n == 2) /* the log begins anew */
            assert_true(store_empty_log(store));
    }
    assert_true(store_empty_log(store));
    pragma_is(store, "PRAGMA busy_timeout", "1000"); /* whoever looks is waited for again */
    store_close(reader);
    store_close(store);
}

/* All queries of an answer see one commit, the last one that was flushed. */
static void an_answer_is_read_in_one_transaction(void **state)
{
    struct store *store = must_open(), *reader;
    struct error err;

    assert_int_equal(store_open_reader(&reader, store, &err), 0);
    add_ensemble(store, 1);
    assert_int_equal(store_commit(store, &err), 0);
    store_answer_end(reader); /* of none: nothing happens */
    for (int i = 0; i < 2; i++) {
        int64_t n = ensembles_of(store);

        store_answer_begin(reader);
        assert_int_equal(ensembles_of(reader), n);
        add_ensemble(store, 1);
        assert_int_equal(store_commit(store, &err), 0);
        assert_int_equal(ensembles_of(reader), n);
        store_answer_end(reader);
        assert_int_equal(ensembles_of(reader), n + 1);
    }
    store_defer_flush(store, true);
    while (!store_owes_flush(store)) {
        add_ensemble(store, 1);
        assert_int_equal(store_commit(store, &err), 0);
    }
    assert_int_equal(ensembles_of(reader), ensembles_of(store) - 1);
    store_answer_begin(reader);
    assert_int_equal(ensembles_of(reader), ensembles_of(store) - 1);
    store_answer_end(reader);
    assert_int_equal(ensembles_of(reader), ensembles_of(store) - 1);
    assert_int_equal(store_flush_owed(store, &err), 0);
    assert_int_equal(ensembles_of(reader), ensembles_of(store));
    store_close(reader);
    store_close(store);
}

/* Of either journal: whoever had the database before was killed, and it is checked. */
static void an_unclean_end_is_noticed(void **state)
{
    struct store *store = must_open();
    char path[128];
    struct error err;

    assert_true(store_is_unclean(store)); /* it is open */
    store_close(store);
    store = must_open();
    assert_int_equal(store_commit(store, &err), 0);
    store_close(store);
    store = must_open();
    snprintf(path, sizeof path, "%s/stretto.db-journal", dir);
    assert_int_equal(file_write_whole(path, "", 0, 0600, &err), 0);
    snprintf(path, sizeof path, "%s/stretto.db-wal", dir);
    assert_int_equal(unlink(path), 0);
    assert_true(store_is_unclean(store));
    snprintf(path, sizeof path, "%s/stretto.db-journal", dir);
    assert_int_equal(unlink(path), 0);
    assert_false(store_is_unclean(store));
    store_close(store);
}

/* One that is renamed over it, too: what is written to the former would be lost with it. */
static void another_database_in_its_place_is_noticed(void **state)
{
    struct store *store = must_open();
    char path[128], other[128];
    size_t size;
    char *data = content_of_database(&size);
    struct error err;

    assert_int_equal(store_check_present(store, &err), 0);
    snprintf(path, sizeof path, "%s/stretto.db", dir);
    snprintf(other, sizeof other, "%s/other.db", dir);
    assert_int_equal(file_write_whole(other, data, size, 0600, &err), 0);
    free(data);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(store_check_present(store, &err), -1);
    assert_string_equal(err.code, "store_gone");
    add_ensemble(store, 1);
    assert_int_equal(store_commit(store, &err), -1);
    assert_string_equal(err.code, "store_gone");
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_daemon_per_state_directory, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(newer_databases_are_refused, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_is_none_of_ours_is_left_alone, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_database_that_cannot_be_written_is_refused, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(where_a_database_may_live, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_network_file_system_is_refused_or_run_safely, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(tallies_follow_every_change, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_schema_knows_each_state, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(moves_are_counted_with_their_members, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(impossible_books_are_refused, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_read_that_fails_dooms_what_was_changed_before, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_is_committed_is_there_after_a_crash, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_reader_sees_what_is_on_the_disk, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(an_answer_is_read_in_one_transaction, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(an_unclean_end_is_noticed, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(another_database_in_its_place_is_noticed, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(the_longest_due_go_first, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_member_that_is_reset_waits_for_nothing, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_member_that_was_cancelled_alone_is_not_reset, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(ensembles_are_counted_as_they_change, new_dir, remove_dir),
        cmocka_unit_test_setup_teardown(replies_are_remembered_for_a_day, new_dir, remove_dir),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
