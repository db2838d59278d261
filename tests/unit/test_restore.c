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

#define NOW_MS 7000

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
        cmocka_unit_test_setup_teardown(generations_that_are_not_known_are_moved_aside, make_dirs, remove_dirs),
        cmocka_unit_test_setup_teardown(an_archive_that_cannot_be_read_ends_it, make_dirs, remove_dirs),
        cmocka_unit_test_setup_teardown(a_damaged_database_makes_no_backup, make_dirs, remove_dirs),
    };

    log_init("restore", LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
