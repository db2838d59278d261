/* The write-ahead log is written back on a worker while the loop turns, or by the loop if no worker comes. */
#include "daemon/store/checkpoint.h"
#include "daemon/store/event.h"
#include "tests/unit/unit.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PAGE 4096
#define A_COMMIT 100 /* pages of one, or more */

static char dir[64];
static uv_loop_t loop;
static struct store *store;
static struct checkpoint *checkpoint;
static uv_work_t hanging; /* on the one worker that there is */
static uv_sem_t hang;

static void on_worker(uv_work_t *work)
{
    uv_sem_wait(&hang);
}

static void after_work(uv_work_t *work, int status)
{
}

static int open_all(void **state)
{
    struct error err;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(store_open(&store, dir, &err), 0);
    assert_int_equal(uv_loop_init(&loop), 0);
    checkpoint = checkpoint_create(&loop, store);
    assert_non_null(checkpoint);
    uv_sem_init(&hang, 0);
    uv_queue_work(&loop, &hanging, on_worker, after_work);
    return 0;
}

static int close_all(void **state)
{
    char rm[128];

    uv_sem_post(&hang);
    checkpoint_destroy(checkpoint);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    store_close(store);
    uv_sem_destroy(&hang);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static int64_t pages_of(const char *name)
{
    char path[128];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    return stat(path, &st) == 0 ? st.st_size / PAGE : 0;
}

static void commit_pages(int pages)
{
    static char text[PAGE];
    struct error err;

    memset(text, 'x', sizeof text - 1);
    for (int n = 0; n < pages; n += A_COMMIT) {
        for (int i = 0; i < A_COMMIT; i++)
            assert_int_equal(store_event_add(store, 1, "test", 0, -1, json_pack("{s:s}", "text", text), &err), 0);
        assert_int_equal(store_commit(store, &err), 0);
        if (store_owes_flush(store)) {
            assert_int_equal(store_flush(store, &err), 0);
            store_flushed(store);
        }
    }
}

static void a_worker_writes_back_and_the_log_begins_anew(void **state)
{
    int64_t before = pages_of("stretto.db"), log;

    commit_pages(1500);
    assert_int_equal(pages_of("stretto.db"), before); /* not by who commits */
    uv_sem_post(&hang);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_true(pages_of("stretto.db") > before + 1000);
    commit_pages(A_COMMIT); /* and with it the rest */
    log = pages_of("stretto.db-wal");
    commit_pages(900);
    assert_int_equal(pages_of("stretto.db-wal"), log);
}

static void a_log_that_gets_long_is_not_left_to_workers(void **state)
{
    int64_t before = pages_of("stretto.db");

    commit_pages(6000);
    assert_true(pages_of("stretto.db") > before + 3000);
    assert_true(pages_of("stretto.db-wal") < 5000);
}

/* Adds so many pages in one transaction. */
static void commit_at_once(int pages)
{
    static char text[PAGE];
    struct error err;

    memset(text, 'x', sizeof text - 1);
    for (int i = 0; i < pages; i++)
        assert_int_equal(store_event_add(store, 1, "test", 0, -1, json_pack("{s:s}", "text", text), &err), 0);
    assert_int_equal(store_commit(store, &err), 0);
}

/* A large transaction makes the log as long. It keeps room for a few changes, and no more, when it has begun anew. */
static void a_log_that_was_long_is_cut(void **state)
{
    int64_t before = pages_of("stretto.db");

    commit_at_once(6000);
    assert_true(pages_of("stretto.db-wal") > 6000);
    uv_sem_post(&hang);
    uv_run(&loop, UV_RUN_DEFAULT);
    for (int i = 0; i < 2; i++) { /* with the first one the rest is written back */
        commit_pages(A_COMMIT);
        uv_run(&loop, UV_RUN_DEFAULT);
    }
    assert_true(pages_of("stretto.db") > before + 6000);
    assert_true(pages_of("stretto.db-wal") <= (8 << 20) / PAGE);
    assert_true(pages_of("stretto.db-wal") >= (6 << 20) / PAGE);
}

static void a_log_that_was_long_is_cut_when_the_daemon_ends(void **state)
{
    struct error err;

    commit_at_once(6000);
    uv_sem_post(&hang);
    checkpoint_destroy(checkpoint);
    checkpoint = NULL;
    uv_run(&loop, UV_RUN_DEFAULT);
    store_close(store);
    assert_true(pages_of("stretto.db") > 6000);
    assert_true(pages_of("stretto.db-wal") <= (8 << 20) / PAGE);
    assert_int_equal(store_open(&store, dir, &err), 0);
}

/* A snapshot that a reader holds while a flush is owed keeps no log from beginning again. */
static void a_reader_keeps_no_log_long(void **state)
{
    struct store *reader;
    struct error err;

    assert_int_equal(store_open_reader(&reader, store, &err), 0);
    store_defer_flush(store, true);
    a_log_that_gets_long_is_not_left_to_workers(state);
    commit_pages(6000);
    assert_true(pages_of("stretto.db-wal") < 5000);
    store_close(reader);
    store_defer_flush(store, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_worker_writes_back_and_the_log_begins_anew, open_all, close_all),
        cmocka_unit_test_setup_teardown(a_log_that_gets_long_is_not_left_to_workers, open_all, close_all),
        cmocka_unit_test_setup_teardown(a_log_that_was_long_is_cut, open_all, close_all),
        cmocka_unit_test_setup_teardown(a_log_that_was_long_is_cut_when_the_daemon_ends, open_all, close_all),
        cmocka_unit_test_setup_teardown(a_reader_keeps_no_log_long, open_all, close_all),
    };

    setenv("UV_THREADPOOL_SIZE", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
