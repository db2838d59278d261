/* Data that is removed after a while, in virtual time: captured output of members, step by step; events, replies and
 * sessions. */
#include "common/log.h"
#include "common/timefmt.h"
#include "daemon/prune.h"
#include "daemon/store/attempt.h"
#include "daemon/store/ensemble.h"
#include "daemon/store/event.h"
#include "daemon/store/idempotency.h"
#include "daemon/store/job.h"
#include "daemon/store/session.h"
#include "daemon/sweep.h"
#include "tests/unit/unit.h"
#include "tests/unit/virtual_uv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STEP_MS 50
#define REST_MS 60000
#define MANY 120 /* members: more than two steps look at */

static char dir[64], run_dir[80];
static struct store *store;
static struct output_sweep *sweep;
static bool commit_fails;
static void (*held_cb)(void *arg, const struct error *err); /* who waits for a commit that takes its time */
static void *held_arg;
static bool holds;

void turn_after_commit(struct turn *turn, void (*cb)(void *arg, const struct error *err), void *arg)
{
    struct error err;

    if (commit_fails) {
        error_set(&err, "store_full", "no room");
        store_doom(store, &err);
    }
    if (store_commit(store, &err) == 0 && holds) {
        held_cb = cb;
        held_arg = arg;
        return;
    }
    cb(arg, commit_fails ? &err : NULL);
}

static const char *stuck; /* a name of files that a failing disk does not remove */

int unlinkat(int at, const char *path, int flags)
{
    if (stuck == NULL || strcmp(path, stuck) != 0)
        return (int)syscall(SYS_unlinkat, at, path, flags);
    errno = EIO;
    return -1;
}

static int64_t archiving; /* the ensemble that is being archived; 0: none */

bool archive_is_busy(const struct archive *archive, int64_t ensemble)
{
    return archiving == ensemble;
}

static int set_up(void **state)
{
    struct error err;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL || store_open(&store, dir, &err) < 0)
        return -1;
    snprintf(run_dir, sizeof run_dir, "%s/run", dir);
    virtual_uv_begin(1000);
    commit_fails = holds = false;
    stuck = NULL;
    archiving = 0;
    return 0;
}

static int tear_down(void **state)
{
    char rm[128];
    struct error err;

    sweep_destroy(sweep);
    sweep = NULL;
    store_commit(store, &err);
    store_close(store);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void must(int rc)
{
    assert_int_equal(rc, 0);
}

static void put(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A file of the run directory, with the directories that it is in. */
static void put(const char *fmt, ...)
{
    char path[256];
    FILE *file;
    va_list ap;
    int n = snprintf(path, sizeof path, "%s/", run_dir);

    va_start(ap, fmt);
    vsnprintf(path + n, sizeof path - (size_t)n, fmt, ap);
    va_end(ap);
    for (char *slash = path + strlen(dir) + 1; (slash = strchr(slash, '/')) != NULL; slash++) { /* without a flush: there are many */
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    file = fopen(path, "w");
    assert_non_null(file);
    must(fclose(file));
}

static bool __attribute__((format(printf, 1, 2))) is_there(const char *fmt, ...)
{
    char path[256];
    struct stat st;
    va_list ap;
    int n = snprintf(path, sizeof path, "%s/", run_dir);

    va_start(ap, fmt);
    vsnprintf(path + n, sizeof path - (size_t)n, fmt, ap);
    va_end(ap);
    return lstat(path, &st) == 0;
}

/* One that has ended long ago, of `count` members of one attempt each, of which every third has failed; two members
 * share a job. */
static int64_t ended_ensemble(int64_t count)
{
    struct ensemble_row row = {.name = "x", .adapter = "local", .stream_key = "0", .count = count, .width = 1, .created_ms = 1};
    struct job_row job;
    struct error err;

    must(store_ensemble_insert(store, &row, "{}", &err));
    for (int64_t i = 0; i < count; i++) {
        bool failed = i % 3 == 2;
        struct member_row member = {.ensemble = row.id, .index = i, .state = failed ? MEMBER_FAILED : MEMBER_SUCCEEDED, .attempts = 1};
        struct attempt_row attempt = {.ensemble = row.id, .index = i, .number = 1, .submitted_ms = 1,
                                      .end.outcome = failed ? ATTEMPT_FAILED : ATTEMPT_SUCCEEDED, .end.ended_ms = 2};

        if (i % 2 == 0) {
            job = (struct job_row){.ensemble = row.id, .kind = JOB_MEMBERS, .adapter = "local", .size = 2, .created_ms = 1};
            must(store_job_insert(store, 0x3f9c2a71, &job, &err));
            put("e%lld/jobs/%s/job.json", (long long)row.id, job.name);
            put("e%lld/jobs/%s/runner.log", (long long)row.id, job.name);
        }
        attempt.job = job.id;
        must(store_member_put(store, &member, &err));
        must(store_attempt_insert(store, &attempt, &err));
        must(store_attempt_update(store, &attempt, &err));
        put("e%lld/members/0/%lld/a1/stdout", (long long)row.id, (long long)i);
        put("e%lld/members/0/%lld/a1/alive", (long long)row.id, (long long)i);
        put("e%lld/members/0/%lld/a1/exit.json", (long long)row.id, (long long)i);
        put("e%lld/members/0/%lld/checkpoint/.stretto/book", (long long)row.id, (long long)i);
    }
    row.state = ENSEMBLE_COMPLETE;
    row.ended_ms = 5000;
    row.next_index = count;
    must(store_ensemble_update(store, &row, &err));
    must(store_commit(store, &err));
    return row.id;
}

static const char *job_of(int64_t index)
{
    static char name[64];
    struct attempt_row attempt;
    struct error err;

    assert_int_equal(store_attempt_get(store, 1, index, 1, &attempt, &err), 1);
    snprintf(name, sizeof name, "%s", attempt.job_name);
    return name;
}

static bool has_output(int64_t index)
{
    bool out = is_there("e1/members/0/%lld/a1/stdout", (long long)index);

    assert_int_equal(is_there("e1/members/0/%lld/a1/exit.json", (long long)index), out);
    assert_int_equal(is_there("e1/members/0/%lld/a1/alive", (long long)index), out);
    return out;
}

static bool is_released(int64_t index)
{
    struct attempt_row attempt;
    struct error err;

    assert_int_equal(store_attempt_get(store, 1, index, 1, &attempt, &err), 1);
    return attempt.released_ms != 0;
}

static void begin(enum retain retain)
{
    sweep = sweep_create(NULL, store, NULL, NULL, run_dir, retain, 1000);
}

static void output_goes_some_at_a_time(void **state)
{
    ended_ensemble(MANY);
    begin(RETAIN_NONE);
    virtual_uv_go_on(STEP_MS);
    assert_false(has_output(0) || has_output(49) || is_there("e1/jobs/%s", job_of(48)));
    assert_true(has_output(50) && is_there("e1/jobs/%s/job.json", job_of(50)) && !is_released(50));
    virtual_uv_go_on(STEP_MS);
    assert_false(has_output(99));
    assert_true(has_output(100));
    virtual_uv_go_on(STEP_MS);
    for (int64_t i = 0; i < MANY; i++) {
        assert_false(has_output(i) || is_there("e1/jobs/%s", job_of(i)));
        /* which is the member's */
        assert_true(is_released(i) && is_there("e1/members/0/%lld/checkpoint/.stretto/book", (long long)i));
    }
}

/* Nothing of what was put into the place of ours goes, nor what it leads to. */
static void what_is_not_ours_stays(void **state)
{
    char path[256], target[256], command[400];

    ended_ensemble(5);
    put("theirs/stdout");
    put("e1/members/0/0/result");
    put("e1/members/0/0/a1/core");
    snprintf(target, sizeof target, "%s/theirs", run_dir);
    snprintf(path, sizeof path, "rm -r %s/e1/members/0/1/a1 %s/e1/members/0/3/a1", run_dir, run_dir);
    assert_int_equal(system(path), 0);
    snprintf(path, sizeof path, "%s/e1/members/0/1/a1", run_dir);
    assert_int_equal(symlink(target, path), 0);
    put("e1/members/0/2/a1/stderr");
    snprintf(path, sizeof path, "%s/e1/members/0/2/a1/stdout", run_dir);
    assert_int_equal(unlink(path), 0);
    put("e1/members/0/2/a1/result");
    assert_int_equal(symlink("result", path), 0);
    put("e1/members/0/3/a1"); /* a file */
    put("other/a1/stdout"); /* a link above an attempt */
    snprintf(command, sizeof command, "rm -r %s/e1/members/0/4 && ln -s %s/other %s/e1/members/0/4", run_dir, run_dir, run_dir);
    assert_int_equal(system(command), 0);
    begin(RETAIN_NONE);
    virtual_uv_go_on(10 * STEP_MS);
    assert_true(is_there("theirs/stdout") && is_there("other/a1/stdout") && is_there("e1/members/0/1/a1") && is_there("e1/members/0/3/a1"));
    assert_true(is_there("e1/members/0/0/result") && is_there("e1/members/0/0/a1/core") &&
                !is_there("e1/members/0/0/a1/stdout"));
    assert_true(is_there("e1/members/0/2/a1/stdout") && !is_there("e1/members/0/2/a1/stderr"));
    assert_false(is_there("e1/jobs/%s", job_of(2)));
}

/* Until it is on the disk that there is no output any more, there is; and who waits for that may find the daemon
 * ending. */
static void nothing_goes_before_that_is_on_the_disk(void **state)
{
    ended_ensemble(4);
    commit_fails = true;
    begin(RETAIN_NONE);
    virtual_uv_go_on(10 * STEP_MS);
    assert_true(has_output(0) && !is_released(0));
    commit_fails = false;
    holds = true;
    virtual_uv_go_on(60000);
    assert_non_null(held_cb);
    assert_true(has_output(0));
    held_cb(held_arg, NULL);
    assert_false(has_output(0) || has_output(3));
    tear_down(state);

    set_up(state);
    ended_ensemble(4);
    holds = true;
    begin(RETAIN_NONE);
    virtual_uv_go_on(STEP_MS);
    sweep_destroy(sweep);
    sweep = NULL;
    held_cb(held_arg, NULL);
    assert_true(has_output(0)); /* the next daemon goes on with it */
    holds = false;
    begin(RETAIN_NONE);
    virtual_uv_go_on(STEP_MS);
    assert_false(has_output(0));
}

/* As long as a file cannot be removed, it is tried again after a rest; and the step after it waits for that. */
static void what_a_failing_disk_keeps_goes_later(void **state)
{
    ended_ensemble(MANY);
    put("e1/succeeded-1.archive");
    begin(RETAIN_NONE);
    stuck = "exit.json";
    virtual_uv_go_on(10 * STEP_MS);
    assert_true(is_there("e1/members/0/0/a1/exit.json") && !is_there("e1/members/0/0/a1/stdout") && has_output(50));
    virtual_uv_go_on(2 * REST_MS);
    assert_true(is_there("e1/members/0/0/a1/exit.json") && has_output(50));
    stuck = "runner.log";
    virtual_uv_go_on(REST_MS);
    assert_true(!has_output(0) && is_there("e1/jobs/%s/runner.log", job_of(0)) && has_output(50));
    stuck = "succeeded-1.archive";
    virtual_uv_go_on(REST_MS + 10 * STEP_MS);
    assert_false(has_output(0) || has_output(50) || has_output(MANY - 1) || is_there("e1/jobs/%s", job_of(0)));
    assert_true(is_there("e1/succeeded-1.archive"));
    stuck = NULL;
    virtual_uv_go_on(REST_MS);
    assert_false(is_there("e1/succeeded-1.archive"));
}

static void an_archive_that_is_being_written_is_waited_for(void **state)
{
    ended_ensemble(3);
    put("e1/succeeded-1.archive");
    archiving = 1;
    begin(RETAIN_NONE);
    virtual_uv_go_on(100 * STEP_MS);
    assert_true(has_output(0) && is_there("e1/succeeded-1.archive"));
    archiving = 0;
    virtual_uv_go_on(STEP_MS);
    assert_false(has_output(0) || is_there("e1/succeeded-1.archive"));
}

/* The next daemon goes on where this one was. */
static void a_daemon_that_ends_waits_for_no_step(void **state)
{
    ended_ensemble(MANY);
    begin(RETAIN_NONE);
    virtual_uv_hold_workers();
    virtual_uv_go_on(STEP_MS);
    assert_true(has_output(0));
    sweep_destroy(sweep);
    sweep = NULL;
    virtual_uv_let_workers_go();
    assert_true(!has_output(0) && has_output(50) && has_output(MANY - 1));
    begin(RETAIN_NONE);
    virtual_uv_go_on(10 * STEP_MS);
    assert_false(has_output(0) || has_output(50) || has_output(MANY - 1));
}

static int64_t count(const char *sql)
{
    struct error err;
    sqlite3_stmt *stmt = store_query(store, &err, sql, "");
    int64_t n;

    assert_int_equal(store_row(store, stmt, &err), 1);
    n = sqlite3_column_int64(stmt, 0);
    store_done(stmt);
    return n;
}

#define EVENTS "SELECT count(*) FROM event"

/* As long as there is much to forget it goes on soon, and else rests: the shorter what is kept is kept, the shorter. */
static void what_is_old_is_forgotten_some_at_a_time(void **state)
{
    struct session_row session = {.role = TOKEN_READER, .path = "/", .created_ms = 1, .expires_ms = 2};
    struct prune *prune;
    struct error err;
    char key[16];

    for (int i = 0; i < 1200; i++) {
        must(store_event_put(store, i < 1100 ? 1 : time_now_ms(), "x", 1, -1, NULL, &err));
        if (i < 20) {
            snprintf(key, sizeof key, "k%d", i);
            must(store_exec(store, &err, "INSERT INTO idempotency (key, digest, status, body, created) VALUES (?1, 'd', 200, 'b', ?2)", "ti", key,
                            i < 15 ? INT64_C(1) : time_now_ms()));
        }
    }
    memset(session.hash, 'a', 64);
    must(store_session_insert(store, &session, &err));
    must(store_commit(store, &err));
    prune = prune_create(NULL, store, 3600000);
    virtual_uv_go_on(STEP_MS);
    assert_int_equal(count(EVENTS), 700);
    assert_int_equal(count("SELECT count(*) FROM idempotency"), 5);
    assert_int_equal(count("SELECT count(*) FROM session"), 0);
    virtual_uv_go_on(STEP_MS);
    assert_int_equal(count(EVENTS), 200);
    virtual_uv_go_on(STEP_MS);
    assert_int_equal(count(EVENTS), 100);
    must(store_event_put(store, 1, "x", 1, -1, NULL, &err));
    must(store_exec(store, &err, "UPDATE event SET time = 1", ""));
    virtual_uv_go_on(59999);
    assert_int_equal(count(EVENTS), 101);
    virtual_uv_go_on(1);
    assert_int_equal(count(EVENTS), 0);
    prune_destroy(prune);

    must(store_event_put(store, 1, "x", 1, -1, NULL, &err));
    prune = prune_create(NULL, store, 4000);
    virtual_uv_go_on(STEP_MS);
    must(store_event_put(store, 1, "x", 1, -1, NULL, &err));
    virtual_uv_go_on(1999);
    assert_int_equal(count(EVENTS), 1);
    virtual_uv_go_on(1);
    assert_int_equal(count(EVENTS), 0);
    prune_destroy(prune);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(output_goes_some_at_a_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_ours_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_goes_before_that_is_on_the_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_failing_disk_keeps_goes_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_archive_that_is_being_written_is_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_daemon_that_ends_waits_for_no_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_old_is_forgotten_some_at_a_time, set_up, tear_down),
    };

    log_init("sweep", LOG_LEVEL_NONE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
