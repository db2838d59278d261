/* Rows are read as they were written, found by what they are known by, and end when they should. */
#include "common/files.h"
#include "daemon/store/cancellation.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/internal.h"
#include "daemon/store/moment.h"
#include "daemon/store/parameter_rows.h"
#include "daemon/store/session.h"
#include "daemon/store/training.h"
#include "tests/unit/open_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each with a value that no other has. */
static void an_attempt_is_read_as_it_was_written(void **state)
{
    int64_t id = add_ensemble(9);
    struct job_row job = add_job(id, "local");
    struct attempt_row row = add_attempt(job.id, id, 3, 1), read;

    must(store_attempt_get(store, id, 3, 1, &read, &err));
    assert_int_equal(read.end.outcome, ATTEMPT_OPEN);
    assert_int_equal(read.end.exit_code, -1);
    assert_false(read.end.measured);
    row.end.outcome = ATTEMPT_TIMEOUT;
    row.end.exit_code = 0; /* a status like any other */
    row.end.signal = 15;
    snprintf(row.end.reason, sizeof row.end.reason, "reason");
    snprintf(row.end.host, sizeof row.end.host, "host");
    snprintf(row.resumed, sizeof row.resumed, "resumed");
    row.end.started_ms = 20;
    row.end.ended_ms = 30;
    row.end.measured = true;
    row.end.cpu_ms = 0;
    row.end.memory_peak = INT64_C(5) << 32;
    must(store_attempt_update(store, &row, &err));
    must(store_attempt_get(store, id, 3, 1, &read, &err));
    assert_int_equal(read.end.outcome, ATTEMPT_TIMEOUT);
    assert_int_equal(read.end.exit_code, 0);
    assert_int_equal(read.end.signal, 15);
    assert_string_equal(read.end.reason, "reason");
    assert_string_equal(read.end.host, "host");
    assert_string_equal(read.resumed, "resumed");
    assert_string_equal(read.job_name, job.name);
    assert_true(read.submitted_ms == 1 && read.end.started_ms == 20 && read.end.ended_ms == 30 && read.released_ms == 0);
    assert_true(read.end.measured && read.end.cpu_ms == 0 && read.end.memory_peak == INT64_C(5) << 32);
}

static void a_job_is_read_as_it_was_written(void **state)
{
    int64_t id = add_ensemble(9);
    struct job_row row = {.ensemble = id, .kind = JOB_PILOT, .adapter = "batch", .size = 7, .created_ms = 1}, read;

    must(store_job_insert(store, 0x3f9c2a71, &row, &err));
    row.state = JOB_ENDED;
    snprintf(row.scheduler_id, sizeof row.scheduler_id, "4711[].server");
    snprintf(row.reason, sizeof row.reason, "reason");
    row.submissions = 2;
    row.cancel = true;
    row.submitted_ms = 10;
    row.started_ms = 20;
    row.ended_ms = 30;
    must(store_job_update(store, &row, &err));
    assert_int_equal(store_job_get(store, row.id, &read, &err), 1);
    assert_true(read.kind == JOB_PILOT && read.state == JOB_ENDED && read.size == 7 && read.submissions == 2 &&
                read.cancel);
    assert_string_equal(read.adapter, "batch");
    assert_string_equal(read.scheduler_id, "4711[].server");
    assert_string_equal(read.reason, "reason");
    assert_true(read.created_ms == 1 && read.submitted_ms == 10 && read.started_ms == 20 && read.ended_ms == 30);
    assert_true(read.pilot == 0 && read.node == 0);
    row = (struct job_row){.ensemble = id, .kind = JOB_MEMBERS, .adapter = "batch", .size = 1, .created_ms = 1, .pilot = read.id, .node = 3, .cpus = 5};
    must(store_job_insert(store, 0x3f9c2a71, &row, &err));
    assert_int_equal(store_job_get(store, row.id, &read, &err), 1);
    assert_true(read.pilot == row.pilot && read.node == 3 && read.cpus == 5 && read.kind == JOB_MEMBERS);
    assert_int_equal(store_job_get(store, row.id + 1, &read, &err), 0);
}

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

/* With the token that asked for them, those end that nobody has used yet, too; and what is over is forgotten. */
static void sessions_and_links_end_with_their_token(void **state)
{
    int64_t tokens[2] = {add_token('a'), add_token('b')};
    struct login_row logins[3], taken;
    struct session_row sessions[3], found;

    for (int i = 0; i < 3; i++) {
        logins[i] = login_of(i < 2 ? tokens[i] : 0, (char)('k' + i), i < 2 ? 800 : 60);
        must(store_login_insert(store, &logins[i], &err));
        sessions[i] = session_of(i < 2 ? tokens[i] : 0, (char)('k' + i), i < 2 ? 800 : 60);
        must(store_session_insert(store, &sessions[i], &err));
    }
    must(store_session_end_of(store, tokens[0], &err));
    assert_int_equal(store_login_take(store, logins[0].hash, 5, &taken, &err), 0);
    assert_int_equal(store_session_find(store, sessions[0].hash, 5, &found, &err), 0);
    assert_int_equal(store_session_find(store, sessions[2].hash, 59, &found, &err), 1);
    assert_int_equal(store_session_find(store, sessions[2].hash, 60, &found, &err), 0);
    must(store_session_prune(store, 60, &err));
    assert_int_equal(store_session_get(store, sessions[2].id, &found, &err), 0);
    assert_int_equal(store_login_take(store, logins[2].hash, 5, &taken, &err), 0);
    assert_int_equal(store_login_take(store, logins[1].hash, 5, &taken, &err), 1);
    assert_int_equal(store_session_get(store, sessions[1].id, &found, &err), 1);
}

static void a_member_is_cancelled_until_it_is_not(void **state)
{
    int64_t one = add_ensemble(9), other = add_ensemble(9);

    must(store_cancellation_put(store, one, 4, 1, &err));
    must(store_cancellation_put(store, one, 4, 2, &err)); /* again */
    assert_int_equal(store_cancellation_has(store, one, 4, &err), 1);
    assert_int_equal(store_cancellation_has(store, one, 5, &err), 0);
    assert_int_equal(store_cancellation_has(store, other, 4, &err), 0);
    assert_int_equal(store_cancellation_any(store, one, &err), 1);
    assert_int_equal(store_cancellation_any(store, other, &err), 0);
    must(store_cancellation_drop(store, one, 4, &err));
    assert_int_equal(store_cancellation_has(store, one, 4, &err), 0);
    assert_int_equal(store_cancellation_any(store, one, &err), 0);
}

static void ranks_are_summed_and_ready_once_all_are(void **state)
{
    struct training_row training = {.ensemble = add_ensemble(9), .ranks = 2, .generation = 2, .created_ms = 1, .adapter = "local"}, read;
    struct rank_row sum, rank = {.generation = 1, .received = 1000, .state = RANK_READY};
    int64_t job;

    must(store_training_insert(store, &training, &err));
    rank.training = training.id;
    must(store_rank_put(store, &rank, &err)); /* of a generation that is over */
    rank = (struct rank_row){.training = training.id, .generation = 2, .state = RANK_READY, .received = 1, .unique = 2, .duplicates = 3, .drawn = 4,
                             .batches = 5, .repeats = 6, .samples_per_second = 1.5, .metrics_offset = 7};
    must(store_rank_put(store, &rank, &err));
    must(store_rank_sum(store, &training, &sum, &err));
    assert_int_equal(sum.state, RANK_STARTING); /* the other one has said nothing */
    rank.rank = 1;
    rank.state = RANK_DONE;
    must(store_rank_put(store, &rank, &err));
    must(store_rank_sum(store, &training, &sum, &err));
    assert_int_equal(sum.state, RANK_READY);
    assert_true(sum.received == 2 && sum.unique == 4 && sum.duplicates == 6 && sum.drawn == 8 && sum.batches == 10 &&
                sum.repeats == 12);
    assert_float_equal(sum.samples_per_second, 3, 1e-9);
    rank.rank = 0;
    rank.state = RANK_UNFINISHED;
    rank.received = 100;
    must(store_rank_put(store, &rank, &err));
    must(store_rank_sum(store, &training, &sum, &err));
    assert_true(sum.state == RANK_UNFINISHED && sum.received == 101);
    assert_int_equal(store_rank_get(store, training.id, 2, 0, &rank, &err), 1);
    assert_true(rank.received == 100 && rank.unique == 2 && rank.duplicates == 3 && rank.drawn == 4 &&
                rank.batches == 5 && rank.repeats == 6 && rank.metrics_offset == 7 && rank.state == RANK_UNFINISHED);
    assert_int_equal(store_rank_get(store, training.id, 3, 0, &rank, &err), 0);

    training.state = TRAINING_FAILED;
    snprintf(training.reason, sizeof training.reason, "reason");
    snprintf(training.missing, sizeof training.missing, "{}");
    training.started_ms = 20;
    training.ended_ms = 30;
    must(store_training_update(store, &training, &err));
    assert_int_equal(store_training_of(store, training.ensemble, &read, &err), 1);
    assert_true(read.id == training.id && read.state == TRAINING_FAILED && read.ranks == 2 && read.generation == 2);
    assert_true(read.created_ms == 1 && read.started_ms == 20 && read.ended_ms == 30);
    assert_string_equal(read.reason, "reason");
    assert_string_equal(read.missing, "{}");
    assert_string_equal(read.adapter, "local");
    must(store_training_job(store, &training, &job, &err));
    assert_true(job == INT64_MAX); /* none was made for it yet */
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

static void a_token_was_revoked_once(void **state)
{
    struct token_row row;
    int64_t id = add_token('a');

    must(store_token_revoke(store, id, 100, &err));
    must(store_token_revoke(store, id, 200, &err));
    assert_int_equal(store_token_get(store, id, &row, &err), 1);
    assert_int_equal(row.revoked_ms, 100);
    assert_int_equal(row.role, TOKEN_ADMIN);
}

static void a_follow_up_has_the_rows_of_its_root(void **state)
{
    int64_t root = add_ensemble(9);
    struct ensemble_row next = {.name = "x", .adapter = "local", .stream_key = "0", .count = 9, .width = 1, .root = root, .parent = root,
                                .created_ms = 1};
    struct parameter_rows_row rows;

    must(store_parameter_rows_insert(store, root, "00112233445566778899aabbccddeeff", 9, "{\"a\":true}", &err));
    must(store_ensemble_insert(store, &next, "{}", &err));
    assert_int_equal(store_parameter_rows_get(store, next.id, &rows, &err), 1);
    assert_string_equal(rows.name, "00112233445566778899aabbccddeeff");
    assert_string_equal(rows.columns, "{\"a\":true}");
    assert_int_equal(rows.count, 9);
    free(rows.columns);
    assert_int_equal(store_parameter_rows_get(store, add_ensemble(9), &rows, &err), 0);
    assert_int_equal(store_parameter_rows_known(store, "00112233445566778899aabbccddeeff", &err), 1);
    assert_int_equal(store_parameter_rows_known(store, "0011", &err), 0);
}

static int note_moment(void *arg, const struct moment_row *row)
{
    note("%lld/%lld ", (long long)row->time_ms, (long long)row->generation);
    return 0;
}

static void a_moment_is_read_as_it_was_written(void **state)
{
    struct training_row training = {.ensemble = add_ensemble(9), .ranks = 1, .generation = 1, .created_ms = 1, .adapter = "local"};
    struct moment_row row = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12.5, 13.5}, read;

    must(store_training_insert(store, &training, &err));
    assert_int_equal(store_moment_last(store, training.id, &read, &err), 0);
    must(store_moment_put(store, training.id, &row, &err));
    assert_int_equal(store_moment_last(store, training.id, &read, &err), 1);
    assert_true(read.time_ms == 1 && read.generation == 2 && read.ranks == 3 && read.received == 4 &&
                read.unique == 5 && read.drawn == 6);
    assert_true(read.repeats == 7 && read.batches == 8 && read.population == 9 && read.unseen == 10 &&
                read.capacity == 11);
    assert_true(read.room_wait == 12.5 && read.sample_wait == 13.5);
    row.time_ms = 20;
    must(store_moment_put(store, training.id, &row, &err));
    row.time_ms = 9;
    row.generation = 8;
    must(store_moment_put(store, training.id, &row, &err));
    assert_int_equal(store_moment_last(store, training.id, &read, &err), 1);
    assert_int_equal(read.time_ms, 20);
    must(store_moment_each(store, training.id, note_moment, NULL, &err));
    is_listed("1/2 9/8 20/2 ");
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
        cmocka_unit_test_setup_teardown(an_attempt_is_read_as_it_was_written, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_job_is_read_as_it_was_written, open_store, close_store),
        cmocka_unit_test_setup_teardown(ids_of_jobs_are_given_once, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_state_directory_keeps_its_name, open_store, close_store),
        cmocka_unit_test_setup_teardown(there_are_so_many_sessions_and_links_of_one_asker, open_store, close_store),
        cmocka_unit_test_setup_teardown(sessions_and_links_end_with_their_token, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_member_is_cancelled_until_it_is_not, open_store, close_store),
        cmocka_unit_test_setup_teardown(ranks_are_summed_and_ready_once_all_are, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_generation_has_its_job, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_token_was_revoked_once, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_follow_up_has_the_rows_of_its_root, open_store, close_store),
        cmocka_unit_test_setup_teardown(a_moment_is_read_as_it_was_written, open_store, close_store),
        cmocka_unit_test_setup_teardown(each_file_of_the_database_is_missed, open_store, close_store),
        cmocka_unit_test_setup_teardown(no_change_of_a_member_looks_into_a_list, open_store, close_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
