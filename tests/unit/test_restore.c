/* A daemon that is started on a backup: what it has of before, what it follows on, and what it takes for lost. */
#include "daemon/run_books.h"
#include "common/files.h"
#include "common/log.h"
#include "daemon/run_claim.h"
#include "daemon/store/attempt.h"
#include "daemon/store/backup.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/event.h"
#include "daemon/store/job.h"
#include "daemon/store/parameter_rows.h"
#include "daemon/store/session.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "00112233445566778899aabbccddeeff"
#define NOW_MS 7000
#define ROWS ((size_t)2500000) /* bytes of a parameter file: more than two pieces of it */

static char dir[64], before[96], after[96], rows_before[96], rows_after[96], run_dir[96];

static int make_dirs(void **state)
{
    char *const paths[] = {before, after, rows_before, run_dir};
    static const char *const names[] = {"before", "after", "before/rows", "run"};

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(paths[i], 96, "%s/%s", dir, names[i]);
        if (mkdir(paths[i], 0700) < 0)
            return -1;
    }
    snprintf(rows_after, sizeof rows_after, "%s/after/rows", dir); /* to be made by the restoring */
    return 0;
}

static int remove_dirs(void **state)
{
    char rm[128];

    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static struct store *must_open(const char *state_dir)
{
    struct store *store = NULL;
    struct error err;

    if (store_open(&store, state_dir, &err) < 0)
        fail_msg("%s", err.text);
    return store;
}

static void must_commit(struct store *store)
{
    struct error err;

    if (store_commit(store, &err) < 0)
        fail_msg("%s", err.text);
}

static int64_t add_ensemble(struct store *store, enum ensemble_state ends)
{
    struct ensemble_row row = {.name = "x", .adapter = "local", .stream_key = "0", .count = 3, .width = 3, .created_ms = 1};
    struct error err;

    assert_int_equal(store_ensemble_insert(store, &row, "{}", &err), 0);
    row.state = ends;
    row.next_index = 3;
    row.ended_ms = ends == ENSEMBLE_RUNNING || ends == ENSEMBLE_PAUSED ? 0 : 2;
    assert_int_equal(store_ensemble_update(store, &row, &err), 0);
    return row.id;
}

/* A job of three attempts: the first has succeeded, the others run. */
static struct job_row add_job(struct store *store, int64_t ensemble)
{
    struct job_row job = {.ensemble = ensemble, .adapter = "local", .size = 3, .created_ms = 1};
    struct error err;

    assert_int_equal(store_job_insert(store, 0x3f9c2a71, &job, &err), 0);
    job.state = JOB_RUNNING;
    job.submitted_ms = job.started_ms = 2;
    assert_int_equal(store_job_update(store, &job, &err), 0);
    for (int64_t i = 0; i < 3; i++) {
        struct member_row member = {.ensemble = ensemble, .index = i, .attempts = 1, .failures = 1, .not_before_ms = 99999,
                                    .state = i == 0 ? MEMBER_SUCCEEDED : MEMBER_RUNNING};
        struct attempt_row attempt = {.ensemble = ensemble, .index = i, .number = 1, .job = job.id, .submitted_ms = 1, .end.exit_code = -1,
                                      .end.outcome = i == 0 ? ATTEMPT_SUCCEEDED : ATTEMPT_OPEN, .end.ended_ms = i == 0 ? 5 : 0};

        assert_int_equal(store_member_put(store, &member, &err), 0);
        assert_int_equal(store_attempt_insert(store, &attempt, &err), 0);
        assert_int_equal(store_attempt_update(store, &attempt, &err), 0);
    }
    return job;
}

/* The run directory has this job's directory, or that of something whose name is like one of an ensemble's. */
static void make_in_run_dir(const char *name)
{
    char path[256];
    struct error err;

    snprintf(path, sizeof path, "%s/%s", run_dir, name);
    assert_int_equal(dir_make(path, &err), 0);
}

static void back_up(struct store *store)
{
    struct backup_source source;
    char path[128];
    struct error err;

    snprintf(path, sizeof path, "%s/stretto.db", after);
    assert_int_equal(backup_source_init(&source, store, rows_before, &err), 0);
    if (backup_write(&source, path, &err) < 0)
        fail_msg("%s", err.text);
    backup_source_fini(&source);
}

static int open_books(struct store *store, struct error *err)
{
    const struct run_books books = {.run_dir = run_dir, .state_dir = after, .rows_dir = rows_after, .now_ms = NOW_MS};

    return run_books_open(store, &books, err);
}

static void restore(struct store *store)
{
    struct error err;

    assert_int_equal(backup_is_copy(store, &err), 1);
    if (open_books(store, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(backup_is_copy(store, &err), 0);
}

static void attempts_are(struct store *store, int64_t ensemble, enum attempt_outcome others, enum member_state state)
{
    struct error err;

    for (int64_t i = 0; i < 3; i++) {
        struct attempt_row attempt;
        struct member_row member;

        assert_int_equal(store_attempt_get(store, ensemble, i, 1, &attempt, &err), 1);
        assert_int_equal(store_member_get(store, ensemble, i, &member, &err), 1);
        assert_int_equal(attempt.end.outcome, i == 0 ? ATTEMPT_SUCCEEDED : others);
        assert_int_equal(member.state, i == 0 ? MEMBER_SUCCEEDED : state);
        assert_int_equal(member.failures, 1); /* no retry is spent */
        if (i > 0 && others == ATTEMPT_LOST) {
            assert_int_equal(attempt.end.ended_ms, NOW_MS);
            assert_int_equal(member.not_before_ms, MEMBER_AT_ONCE);
        }
    }
}

static int count_lost(void *arg, const struct event_row *row)
{
    *(int *)arg += row->index > 0 && strstr(row->detail, "\"lost\"") != NULL;
    return 0;
}

static void what_the_run_directory_does_not_have_is_lost(void **state)
{
    static const enum ensemble_state ends[] = {ENSEMBLE_RUNNING, ENSEMBLE_RUNNING, ENSEMBLE_CANCELLED, ENSEMBLE_FAILED,
                                               ENSEMBLE_PAUSED};
    static const enum member_state becomes[] = {MEMBER_RUNNING, MEMBER_PENDING, MEMBER_CANCELLED, MEMBER_CANCELLED,
                                                MEMBER_PENDING};
    struct event_filter lost = {.kind = "attempt.ended"};
    struct store *store = must_open(before);
    struct job_row jobs[5], job;
    int64_t n[MEMBER_STATE_COUNT];
    char name[128];
    struct error err;
    int events = 0;

    for (int i = 0; i < 5; i++)
        jobs[i] = add_job(store, add_ensemble(store, ends[i]));
    must_commit(store);
    back_up(store);
    store_close(store);
    snprintf(name, sizeof name, "e1/jobs/%s", jobs[0].name);
    make_in_run_dir(name);

    store = must_open(after);
    restore(store);
    for (int i = 0; i < 5; i++) {
        attempts_are(store, i + 1, i == 0 ? ATTEMPT_OPEN : ATTEMPT_LOST, becomes[i]);
        assert_int_equal(store_job_get(store, jobs[i].id, &job, &err), 1);
        assert_int_equal(job.state, i == 0 ? JOB_RUNNING : JOB_ENDED);
        assert_string_equal(job.name, jobs[i].name);
        assert_int_equal(store_tally_get(store, i + 1, n, &err), 0);
        assert_int_equal(n[becomes[i]], 2);
    }
    assert_int_equal(store_event_each(store, 0, INT64_MAX, &lost, 100, count_lost, &events, &err), 0);
    assert_int_equal(events, 8);
    store_close(store);
}

static void what_is_made_from_now_on_has_names_of_its_own(void **state)
{
    struct store *store = must_open(before);
    struct store_extent there;
    char instance[16];
    struct error err;
    int64_t id = add_ensemble(store, ENSEMBLE_COMPLETE);

    must_commit(store);
    snprintf(instance, sizeof instance, "%s", store_instance(store));
    back_up(store);
    store_close(store);
    make_in_run_dir("e12"); /* made after the backup */
    make_in_run_dir("e9");
    make_in_run_dir("e400.old"); /* somebody's copy */
    make_in_run_dir("x500");
    make_in_run_dir("e9/jobs/st-00c0ffee-77");
    run_claim_extent(run_dir, &there);
    assert_true(there.ensemble == 12 && there.job == 77);

    store = must_open(after);
    restore(store);
    assert_string_not_equal(store_instance(store), instance);
    assert_int_equal(strlen(store_instance(store)), strlen(instance));
    snprintf(instance, sizeof instance, "%s", store_instance(store));
    assert_int_equal(open_books(store, &err), 0); /* it is done once */
    store_close(store);

    store = must_open(after);
    assert_string_equal(store_instance(store), instance);
    assert_int_equal(add_ensemble(store, ENSEMBLE_RUNNING), 13);
    assert_int_equal(add_job(store, 13).id, 78);
    assert_true(id < 13);
    store_close(store);
}

/* The database itself is no copy any more, and not only its log says so: without the log it would be restored again. */
static void a_restored_database_is_so_without_its_log(void **state)
{
    struct store *store = must_open(before), *alone;
    char command[400], other[96];
    struct error err;

    add_ensemble(store, ENSEMBLE_COMPLETE);
    must_commit(store);
    back_up(store);
    store_close(store);
    store = must_open(after);
    restore(store);
    snprintf(other, sizeof other, "%s/alone", dir);
    snprintf(command, sizeof command, "mkdir -m 700 '%s' && cp '%s/stretto.db' '%s'", other, after, other);
    assert_int_equal(system(command), 0);
    store_close(store);
    alone = must_open(other);
    assert_int_equal(backup_is_copy(alone, &err), 0);
    store_close(alone);
}

/* A generation of the same number that was begun after the backup, with counters and an end of its own. */
static void generations_that_are_not_known_are_moved_aside(void **state)
{
    struct store *store = must_open(before);
    struct job_row job = {.ensemble = add_ensemble(store, ENSEMBLE_RUNNING), .kind = JOB_TRAINING, .adapter = "local", .size = 1, .created_ms = 1};
    char path[256], text[128];
    struct error err;

    assert_int_equal(store_job_insert(store, 0x3f9c2a71, &job, &err), 0);
    must_commit(store);
    back_up(store);
    store_close(store);
    make_in_run_dir("e1/training/stream");
    for (int i = 1; i <= 2; i++) {
        snprintf(path, sizeof path, "e1/training/g%d", i);
        make_in_run_dir(path);
        snprintf(path, sizeof path, "%s/e1/training/g%d/training.json", run_dir, i);
        snprintf(text, sizeof text, "{\"job\": \"%s\"}", i == 1 ? job.name : "st-00c0ffee-2");
        assert_int_equal(file_write_whole(path, text, strlen(text), 0600, &err), 0);
        snprintf(path, sizeof path, "%s/e1/training/stream/g%d-rank0.json", run_dir, i);
        assert_int_equal(file_write_whole(path, "{}", 2, 0600, &err), 0);
    }

    store = must_open(after);
    restore(store);
    store_close(store);
    for (int i = 1; i <= 2; i++) {
        snprintf(path, sizeof path, "%s/e1/training/g%d", run_dir, i);
        assert_int_equal(access(path, F_OK), i == 1 ? 0 : -1);
        snprintf(path, sizeof path, "%s/e1/training/stream/g%d-rank0.json", run_dir, i);
        assert_int_equal(access(path, F_OK), i == 1 ? 0 : -1);
    }
}

/* Nothing of a backup is taken over before all archives could be read: what is in them would be lost. */
static void an_archive_that_cannot_be_read_ends_it(void **state)
{
    struct store *store = must_open(before);
    struct error err;

    add_ensemble(store, ENSEMBLE_COMPLETE);
    must_commit(store);
    back_up(store);
    store_close(store);
    make_in_run_dir("e1");
    make_in_run_dir("e1/succeeded-1.archive"); /* a folder of that name */

    store = must_open(after);
    assert_int_equal(open_books(store, &err), -1);
    assert_string_equal(err.code, "file_read");
    store_close(store);
    store = must_open(after);
    assert_int_equal(backup_is_copy(store, &err), 1);
    store_close(store);
}

static void sessions_of_browsers_have_ended(void **state)
{
    struct store *store = must_open(before);
    struct session_row session = {.role = TOKEN_READER, .path = "/", .created_ms = 1, .expires_ms = INT64_MAX};
    struct login_row login = {.role = TOKEN_READER, .until_ms = INT64_MAX, .expires_ms = INT64_MAX}, taken;
    struct error err;

    memset(session.hash, 'a', 64);
    memset(login.hash, 'b', 64);
    assert_int_equal(store_session_insert(store, &session, &err), 0);
    assert_int_equal(store_login_insert(store, &login, &err), 0);
    must_commit(store);
    back_up(store);
    store_close(store);

    store = must_open(after);
    assert_int_equal(store_session_find(store, session.hash, NOW_MS, &session, &err), 1);
    restore(store);
    assert_int_equal(store_session_find(store, session.hash, NOW_MS, &session, &err), 0);
    assert_int_equal(store_login_take(store, login.hash, NOW_MS, &taken, &err), 0);
    store_close(store);
}

static void write_rows(const char *where, const char *suffix, const char *data, size_t size)
{
    char path[160];
    struct error err;

    snprintf(path, sizeof path, "%s/" NAME "%s", where, suffix);
    assert_int_equal(file_write_whole(path, data, size, 0600, &err), 0);
}

static void rows_are(const char *suffix, const char *data, size_t size)
{
    char path[160], *there;
    size_t n;
    struct error err;

    snprintf(path, sizeof path, "%s/" NAME "%s", rows_after, suffix);
    assert_int_equal(file_read(path, 2 * ROWS, &there, &n, &err), 0);
    assert_int_equal(n, size);
    assert_memory_equal(there, data, size);
    free(there);
}

/* What an attempt to restore that was killed, or another database, has left there is no part of them. */
static void parameter_files_are_what_they_were(void **state)
{
    struct store *store = must_open(before);
    char *rows = malloc(ROWS), *longer = calloc(1, ROWS + 1000);
    struct error err;

    for (size_t i = 0; i < ROWS; i++)
        rows[i] = (char)(i * 31 % 251);
    write_rows(rows_before, ".jsonl", rows, ROWS);
    write_rows(rows_before, ".index", "", 0);
    assert_int_equal(store_parameter_rows_insert(store, add_ensemble(store, ENSEMBLE_RUNNING), NAME, 3, "{}", &err), 0);
    must_commit(store);
    back_up(store);
    store_close(store);

    assert_int_equal(mkdir(rows_after, 0700), 0);
    write_rows(rows_after, ".jsonl", longer, ROWS + 1000);
    write_rows(rows_after, ".index", "left", 4);
    store = must_open(after);
    restore(store);
    rows_are(".jsonl", rows, ROWS);
    rows_are(".index", "", 0);
    store_close(store);
    free(rows);
    free(longer);
}

/* A backup may have come from anywhere. */
static void a_backup_writes_nothing_else(void **state)
{
    static const char *const names[] = {"../" NAME ".jsonl", NAME, NAME "0.jsonl", NAME ".jsonl.x", "../stretto.sock",
                                        "0011.jsonl", NAME "/../../x.jsonl"};
    struct store *store = must_open(before);
    char path[256], ls[128];
    struct error err;

    back_up(store);
    store_close(store);
    store = must_open(after);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(store_exec(store, &err, "INSERT INTO backup_file (name, piece, data) VALUES (?1, 0, x'00')", "t", names[i]), 0);
    must_commit(store);
    restore(store);
    store_close(store);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", rows_after, names[i]);
        assert_int_not_equal(access(path, F_OK), 0);
    }
    snprintf(ls, sizeof ls, "test -z \"$(ls -A '%s')\"", rows_after);
    assert_int_equal(system(ls), 0);
}

/* Damage that copying alone does not meet: who restores such a backup one day finds that out too late. */
static void a_damaged_database_makes_no_backup(void **state)
{
    struct store *store = must_open(before);
    struct backup_source source;
    char path[128];
    struct error err;
    sqlite3 *db;

    add_ensemble(store, ENSEMBLE_RUNNING);
    must_commit(store);
    snprintf(path, sizeof path, "%s/stretto.db", before);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA ignore_check_constraints = ON; UPDATE tally SET n = -7 WHERE state = 'failed'", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    snprintf(path, sizeof path, "%s/stretto.db", after);
    assert_int_equal(backup_source_init(&source, store, rows_before, &err), 0);
    assert_int_equal(backup_write(&source, path, &err), -1);
    assert_string_equal(err.code, "store_io");
    assert_non_null(strstr(err.text, "damaged"));
    backup_source_fini(&source);
    store_close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_the_run_directory_does_not_have_is_lost, make_dirs, remove_dirs),
        cmocka_unit_test_setup_teardown(what_is_made_from_now_on_has_names_of_its_own, make_dirs, remove_dirs),
        cmocka_unit_test_setup_teardown(a_restored_database_is_so_without_its_log, make_dirs, remove_dirs),
        cmocka_unit_test_setup_teardown(generations_that_are_not_known_are_moved_aside, make_dirs, remove_dirs),
        cmocka_unit_test_setup_teardown(an_archive_that_cannot_be_read_ends_it, make_dirs, remove_dirs),
        cmocka_unit_test_setup_teardown(sessions_of_browsers_have_ended, make_dirs, remove_dirs),
        cmocka_unit_test_setup_teardown(parameter_files_are_what_they_were, make_dirs, remove_dirs),
        cmocka_unit_test_setup_teardown(a_backup_writes_nothing_else, make_dirs, remove_dirs),
        cmocka_unit_test_setup_teardown(a_damaged_database_makes_no_backup, make_dirs, remove_dirs),
    };

    log_init("restore", LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
