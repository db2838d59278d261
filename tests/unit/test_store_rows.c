/* Ids and names that are given once, sessions that are too many, files of the database that are missed, and what a
 * change of a member costs. */
#include "common/files.h"
#include "daemon/store/internal.h"
#include "daemon/store/session.h"
#include "daemon/store/training.h"
#include "tests/unit/open_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An id is in the job's name, which a batch system may know still; one of a turn that was rolled back was never
 * submitted. */
static void ids_of_jobs_are_given_once(void **state)
{
    int64_t id = add_ensemble(9);
    struct job_row job;

    add_job(id, "local");
    add_job(id, "local");
    must(store_exec(store, &err, "DELETE FROM job WHERE id = 2", "")); /* forgotten one day */
    must(store_commit(store, &err));
    must(reopen_store());
    job = add_job(id, "local");
    assert_int_equal(job.id, 3);
    assert_int_equal(store_exec(store, &err, "INSERT INTO nowhere VALUES (1)", ""), -1);
    assert_int_equal(store_commit(store, &err), -1);
    job = add_job(id, "local");
    assert_int_equal(job.id, 3);
    must(store_commit(store, &err));
    assert_int_equal(store_job_get(store, 3, &job, &err), 1);
}

/* It is in the names of jobs. */
static void a_state_directory_keeps_its_name(void **state)
{
    char instance[9];

    snprintf(instance, sizeof instance, "%s", store_instance(store));
    assert_int_equal(strspn(instance, "0123456789abcdef"), 8);
    must(reopen_store());
    assert_string_equal(store_instance(store), instance);
}

static struct login_row login_of(int64_t token, char letter, int64_t expires_ms)
{
    struct login_row row = {.role = TOKEN_OPERATOR, .token = token, .until_ms = 900, .expires_ms = expires_ms};

    memset(row.hash, letter, 64);
    return row;
}

static struct session_row session_of(int64_t token, char letter, int64_t expires_ms)
{
    struct session_row row = {.role = TOKEN_READER, .token = token, .path = "/x/", .created_ms = 1, .expires_ms = expires_ms};

    memset(row.hash, letter, 64);
    return row;
}

static int64_t add_token(char letter)
{
    struct token_row row = {.role = TOKEN_ADMIN, .created_ms = 1};

    memset(row.hash, letter, 64);
    must(store_token_insert(store, &row, &err));
    return row.id;
}

/* One more than there may be ends the oldest of the same asker, and nobody else's. */
static void there_are_so_many_sessions_and_links_of_one_asker(void **state)
{
    int64_t token = add_token('a');
    struct login_row login, taken;
    struct session_row session, found;

    login = login_of(token, '~', 800);
    must(store_login_insert(store, &login, &err));
    session = session_of(token, '~', 800);
    must(store_session_insert(store, &session, &err));
    for (int i = 0; i <= SESSIONS_MAX; i++) {
        login = login_of(0, (char)('0' + i), 800);
        must(store_login_insert(store, &login, &err));
        session = session_of(0, (char)('0' + i), 800);
        must(store_session_insert(store, &session, &err));
    }
    login = login_of(0, '0', 800);
    session = session_of(0, '0', 800);
    assert_int_equal(store_login_take(store, login.hash, 5, &taken, &err), 0);
    assert_int_equal(store_session_find(store, session.hash, 5, &found, &err), 0);
    for (int i = 1; i <= SESSIONS_MAX; i++) {
        login = login_of(0, (char)('0' + i), 800);
        session = session_of(0, (char)('0' + i), 800);
        assert_int_equal(store_login_take(store, login.hash, 5, &taken, &err), 1);
        assert_int_equal(taken.role, TOKEN_OPERATOR);
        assert_int_equal(taken.until_ms, 900);
        assert_int_equal(store_session_find(store, session.hash, 5, &found, &err), 1);
        assert_int_equal(found.token, 0);
    }
    login = login_of(token, '~', 800);
    session = session_of(token, '~', 800);
    assert_int_equal(store_login_take(store, login.hash, 5, &taken, &err), 1);
    assert_int_equal(taken.token, token);
    assert_int_equal(store_session_find(store, session.hash, 5, &found, &err), 1);
    assert_int_equal(found.token, token);
    assert_string_equal(found.path, "/x/");
}

/* A training's jobs are those of its generations, one each, whatever other jobs there are in between. */
static void a_generation_has_its_job(void **state)
{
    struct training_row training = {.ensemble = add_ensemble(9), .ranks = 1, .generation = 1, .created_ms = 1, .adapter = "local"};
    int64_t job;

    must(store_training_insert(store, &training, &err));
    for (int i = 1; i <= 6; i++) {
        struct job_row row = {.ensemble = training.ensemble, .kind = i % 3 == 0 ? JOB_TRAINING : JOB_MEMBERS, .adapter = "local", .size = 1,
                              .created_ms = 1};

        must(store_job_insert(store, 0x3f9c2a71, &row, &err));
    }
    must(store_training_job(store, &training, &job, &err));
    assert_int_equal(job, 3);
    training.generation = 2; /* which has all that the first one had acknowledged */
    must(store_training_job(store, &training, &job, &err));
    assert_int_equal(job, 3);
    training.keeps = 2;
    must(store_training_job(store, &training, &job, &err));
    assert_int_equal(job, 6);
}

/* The database, and the log that its last changes may be in. */
static void each_file_of_the_database_is_missed(void **state)
{
    static const char *const suffixes[] = {"", "-wal"};

    add_ensemble(1);
    must(store_commit(store, &err));
    for (size_t i = 0; i < 2; i++) {
        char path[200], away[208];

        snprintf(path, sizeof path, "%s%s", store->path, suffixes[i]);
        snprintf(away, sizeof away, "%s-away", path);
        assert_int_equal(store_check_present(store, &err), 0);
        assert_int_equal(rename(path, away), 0);
        assert_int_equal(store_check_present(store, &err), -1);
        assert_string_equal(err.code, "store_gone");
        must(file_write_whole(path, "x", 1, 0600, &err)); /* another one in its place */
        assert_int_equal(store_check_present(store, &err), -1);
        assert_int_equal(rename(away, path), 0);
    }
    assert_int_equal(store_check_present(store, &err), 0);
}

/* SQLite would make a temporary table for such a list at each change, which once took a good part of the engine's
 * time. */
static void no_change_of_a_member_looks_into_a_list(void **state)
{
    static const char lists[] =
        "SELECT count(*) FROM sqlite_schema WHERE tbl_name IN ('ensemble', 'tally', 'progress', 'member', "
        "'attempt', 'job', 'event', 'arrival') AND sql LIKE '% IN (%'";
    static const char trigger[] =
        "CREATE TRIGGER t AFTER UPDATE ON tally WHEN NEW.state IN ('failed') BEGIN SELECT 1; END";
    sqlite3_stmt *stmt;

    must(store_begin(store, &err));
    assert_non_null(stmt = store_prepared(store, lists, &err));
    for (int i = 0; i < 2; i++) { /* one would be found */
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        assert_int_equal(sqlite3_column_int(stmt, 0), i);
        sqlite3_reset(stmt);
        if (i == 0)
            must(store_run(store, trigger, &err));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ids_of_jobs_are_given_once, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_state_directory_keeps_its_name, open_store, close_store),
        cmocka_unit_test_setup_teardown(there_are_so_many_sessions_and_links_of_one_asker, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_generation_has_its_job, open_store, close_store),
        cmocka_unit_test_setup_teardown(each_file_of_the_database_is_missed, open_store, close_store),
        cmocka_unit_test_setup_teardown(no_change_of_a_member_looks_into_a_list, open_store, close_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
