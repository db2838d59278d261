/* How output goes into archives step by step, in virtual time: when, with which commit, and what a daemon finds that
 * comes after a crash or is started on a backup. */
#include "common/files.h"
#include "common/log.h"
#include "common/timefmt.h"
#include "daemon/archive.h"
#include "daemon/rundir/archive_file.h"
#include "daemon/store/archived.h"
#include "daemon/store/attempt.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/internal.h"
#include "daemon/store/job.h"
#include "daemon/unarchive.h"
#include "tests/unit/unit.h"
#include "tests/unit/virtual_uv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AFTER_MS 1200000 /* much longer than the test takes */
#define RETRY_MS 60000
#define HOUR_MS 3600000

static char dir[64], run_dir[80], path[300];
static struct store *store;
static struct archive *archive;
static struct error err;
static bool commit_fails, holds;
static void (*held_cb)(void *arg, const struct error *err); /* who waits for a commit that takes its time */
static void *held_arg;

void turn_after_commit(struct turn *turn, void (*cb)(void *arg, const struct error *err), void *arg)
{
    struct error why;

    if (commit_fails) {
        error_set(&why, "store_full", "no room");
        store_doom(store, &why);
    }
    if (store_commit(store, &why) == 0 && holds) {
        held_cb = cb;
        held_arg = arg;
        return;
    }
    cb(arg, commit_fails ? &why : NULL);
}

static void must(int rc)
{
    if (rc != 0)
        fail_msg("%s", err.text);
}

static void open_store(void)
{
    must(store_open(&store, dir, &err));
}

static int set_up(void **state)
{
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    snprintf(run_dir, sizeof run_dir, "%s/run", dir);
    open_store();
    virtual_uv_begin(100000);
    commit_fails = holds = false;
    return 0;
}

static void end_daemon(void)
{
    archive_destroy(archive);
    archive = NULL;
    if (holds)
        held_cb(held_arg, NULL);
    holds = false;
    store_commit(store, &err);
    store_close(store);
}

static int tear_down(void **state)
{
    char rm[128];

    end_daemon();
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static const char *__attribute__((format(printf, 1, 2))) in_run_dir(const char *fmt, ...)
{
    int n = snprintf(path, sizeof path, "%s/", run_dir);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(path + n, sizeof path - (size_t)n, fmt, ap);
    va_end(ap);
    return path;
}

static bool is_there(const char *at)
{
    return access(at, F_OK) == 0;
}

/* Writes a file, with the directories that it is in. */
static void put(const char *at, const char *text)
{
    char parent[300];
    FILE *file;

    snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(at, '/') - at), at);
    must(dir_make(parent, &err));
    file = fopen(at, "w");
    assert_non_null(file);
    fputs(text, file);
    must(fclose(file));
}

static int64_t add_ensemble(int64_t count)
{
    struct ensemble_row row = {.name = "x", .adapter = "local", .stream_key = "0", .count = count, .width = 1, .created_ms = 1};

    must(store_ensemble_insert(store, &row, "{}", &err));
    return row.id;
}

static const char *directory_of(int64_t ensemble, int64_t index)
{
    return in_run_dir("e%lld/members/%lld/%lld", (long long)ensemble, (long long)index / 1000, (long long)index);
}

static const char *file_of(int64_t ensemble, int64_t index, const char *name)
{
    return in_run_dir("e%lld/members/%lld/%lld/a1/%s", (long long)ensemble, (long long)index / 1000, (long long)index, name);
}

static struct job_row add_job(int64_t ensemble, int64_t ended_ms)
{
    struct job_row job = {.ensemble = ensemble, .kind = JOB_MEMBERS, .adapter = "local", .size = 1, .created_ms = 1};

    must(store_job_insert(store, 0x3f9c2a71, &job, &err));
    job.state = JOB_ENDED;
    job.ended_ms = ended_ms;
    must(store_job_update(store, &job, &err));
    put(in_run_dir("e%lld/jobs/%s/job.json", (long long)ensemble, job.name), "{}");
    return job;
}

/* A member with one attempt in a job. */
static void add_attempt(int64_t ensemble, int64_t index, enum member_state state, const struct job_row *job)
{
    struct member_row member = {.ensemble = ensemble, .index = index, .state = state, .attempts = 1};
    bool good = state == MEMBER_SUCCEEDED;
    struct attempt_row attempt = {.ensemble = ensemble, .index = index, .number = 1, .submitted_ms = 1, .end.exit_code = -1,
                                  .end.outcome = good ? ATTEMPT_SUCCEEDED : ATTEMPT_FAILED, .end.ended_ms = 2, .job = job->id};
    char record[200], out[32];

    must(store_member_put(store, &member, &err));
    must(store_attempt_insert(store, &attempt, &err));
    must(store_attempt_update(store, &attempt, &err));
    snprintf(record, sizeof record, "{\"job\":\"%s\",\"id\":\"%lld.%lld\"}", job->name, (long long)ensemble,
             (long long)index);
    put(file_of(ensemble, index, "exit.json"), record);
    snprintf(out, sizeof out, "output of %lld", (long long)index);
    put(file_of(ensemble, index, "stdout"), out);
    put(file_of(ensemble, index, "stderr"), "");
}

/* Likewise in a job of its own, which has ended at a time. */
static int64_t add_member(int64_t ensemble, int64_t index, enum member_state state, int64_t ended_ms)
{
    struct job_row job = add_job(ensemble, ended_ms);

    add_attempt(ensemble, index, state, &job);
    return job.id;
}

static struct attempt_row attempt_of(int64_t ensemble, int64_t index)
{
    struct attempt_row row;

    assert_int_equal(store_attempt_get(store, ensemble, index, 1, &row, &err), 1);
    return row;
}

/* Its output is in an archive, and its files are gone; or neither. */
static bool is_archived(int64_t ensemble, int64_t index)
{
    struct attempt_row row = attempt_of(ensemble, index);
    char wanted[32], got[32] = "", *at;
    int64_t first, size;
    int fd;

    assert_int_equal(is_there(file_of(ensemble, index, "exit.json")), row.archive == 0);
    assert_int_equal(is_there(file_of(ensemble, index, "stdout")), row.archive == 0);
    assert_int_equal(is_there(in_run_dir("e%lld/jobs/%s", (long long)ensemble, row.job_name)), row.archive == 0);
    if (row.archive == 0)
        return false;
    at = archive_path(run_dir, ensemble, (enum archive_kind)row.archive_kind, row.archive);
    fd = archive_open(at, row.archive_at, index, 1, ARCHIVE_STDOUT, &first, &size, &err);
    free(at);
    assert_true(fd >= 0 && size > 0 && size < (int64_t)sizeof got && pread(fd, got, (size_t)size, first) == size);
    close(fd);
    snprintf(wanted, sizeof wanted, "output of %lld", (long long)index);
    assert_string_equal(got, wanted);
    assert_int_equal(row.archive_kind, row.end.outcome == ATTEMPT_SUCCEEDED ? ARCHIVE_SUCCEEDED : ARCHIVE_OTHER);
    return true;
}

static void begin(void)
{
    must(store_commit(store, &err));
    archive = archive_create(NULL, store, NULL, run_dir, AFTER_MS);
}

static void output_is_archived_after_a_time(void **state)
{
    int64_t now = time_now_ms(), id = add_ensemble(5);
    struct job_row late;

    add_member(id, 0, MEMBER_SUCCEEDED, now - AFTER_MS - 1);
    add_member(id, 1, MEMBER_FAILED, now - AFTER_MS - 1);
    add_member(id, 2, MEMBER_PENDING, now - AFTER_MS - 1); /* it will be tried again, in its directory */
    late.id = add_member(id, 3, MEMBER_SUCCEEDED, now);
    begin();
    virtual_uv_go_on(100);
    assert_true(is_archived(id, 0) && is_archived(id, 1) && is_archived(id, 2) && !is_archived(id, 3));
    assert_false(is_there(directory_of(id, 0)) || is_there(directory_of(id, 1)));
    assert_true(is_there(directory_of(id, 2)));
    virtual_uv_go_on(20000);
    assert_false(is_archived(id, 3));
    assert_int_equal(store_job_get(store, late.id, &late, &err), 1);
    late.ended_ms = now - AFTER_MS - 1;
    must(store_job_update(store, &late, &err));
    virtual_uv_go_on(10000);
    assert_true(is_archived(id, 3));
    assert_int_equal(attempt_of(id, 3).archive, attempt_of(id, 0).archive); /* which is added to */
    assert_true(attempt_of(id, 3).archive_at > attempt_of(id, 0).archive_at);
}

static void nothing_goes_before_the_database_says_where_it_is(void **state)
{
    int64_t now = time_now_ms(), id = add_ensemble(2);

    add_member(id, 0, MEMBER_SUCCEEDED, now - AFTER_MS);
    commit_fails = true;
    begin();
    virtual_uv_go_on(RETRY_MS - 1);
    assert_false(is_archived(id, 0) || archive_is_busy(archive, id) || archive_holds(archive, id, 0));
    commit_fails = false;
    virtual_uv_go_on(RETRY_MS);
    assert_true(is_archived(id, 0));
}

/* Until its directory is gone, no attempt of a final member may begin there; those that go on may. */
static void members_are_held_while_their_directories_go(void **state)
{
    int64_t now = time_now_ms(), id = add_ensemble(5), other = add_ensemble(1);

    add_member(id, 4, MEMBER_SUCCEEDED, now - AFTER_MS);
    add_member(id, 0, MEMBER_FAILED, now - AFTER_MS);
    add_member(id, 2, MEMBER_PENDING, now - AFTER_MS);
    add_member(id, 1, MEMBER_UNFINISHED, now - AFTER_MS);
    virtual_uv_hold_workers();
    begin();
    virtual_uv_go_on(10);
    assert_true(archive_is_busy(archive, id) && !archive_is_busy(archive, other) && !archive_is_busy(NULL, id));
    assert_false(archive_holds(archive, id, 0)); /* nothing is removed yet */
    holds = true;
    virtual_uv_let_workers_go();
    assert_true(archive_holds(archive, id, 0) && archive_holds(archive, id, 1) && archive_holds(archive, id, 4));
    assert_false(archive_holds(archive, id, 2) || archive_holds(archive, id, 3) || archive_holds(archive, other, 0));
    assert_true(is_there(file_of(id, 0, "stdout")));
    holds = false;
    held_cb(held_arg, NULL);
    assert_true(is_archived(id, 0) && is_archived(id, 2));
    assert_false(archive_holds(archive, id, 0) || archive_is_busy(archive, id));
}

/* Somebody writes to a file that is copied already: what was written is not lost. */
static void what_is_written_meanwhile_stays(void **state)
{
    int64_t now = time_now_ms(), id = add_ensemble(2);

    add_member(id, 0, MEMBER_SUCCEEDED, now - AFTER_MS);
    add_member(id, 1, MEMBER_SUCCEEDED, now - AFTER_MS);
    holds = true;
    begin();
    virtual_uv_go_on(10);
    put(file_of(id, 0, "stdout"), "output of 0, and of its child");
    holds = false;
    held_cb(held_arg, NULL);
    assert_true(is_there(file_of(id, 0, "stdout")) && is_there(file_of(id, 0, "exit.json")));
    assert_int_equal(attempt_of(id, 0).archive, 0);
    assert_true(is_archived(id, 1));
}

/* A number of an ensemble may be that of another life of the database: its archives are those of other jobs. */
static void archives_of_another_life_are_left_alone(void **state)
{
    int64_t now = time_now_ms(), id = add_ensemble(2);
    int64_t job;

    add_member(id, 0, MEMBER_SUCCEEDED, now - AFTER_MS);
    job = add_member(id, 1, MEMBER_SUCCEEDED, now + HOUR_MS);
    begin();
    virtual_uv_go_on(10);
    assert_true(is_archived(id, 0));
    must(store_archive_put(store, id, &(struct unarchived){.index = 0, .number = 1}, &err));
    /* now it is an attempt of another job */
    must(store_exec(store, &err, "UPDATE attempt SET job = ?1 WHERE idx = 0", "i", job));
    must(unarchive_for_restore(store, run_dir, &err));
    assert_int_equal(attempt_of(id, 0).archive, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(output_is_archived_after_a_time),
        TEST(nothing_goes_before_the_database_says_where_it_is),
        TEST(members_are_held_while_their_directories_go),
        TEST(what_is_written_meanwhile_stays),
        TEST(archives_of_another_life_are_left_alone),
    };

    log_init("test", LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
