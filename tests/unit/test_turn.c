/* The moments at which a loop turn's changes are committed, and the callbacks that follow. */
#include "common/log_changes.h"
#include "daemon/state_watch.h"
#include "daemon/store/event.h"
#include "daemon/turn.h"
#include "tests/sim/faultfs.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64];
static uv_loop_t loop;
static struct store *store;
static struct turn *turn;
static uv_timer_t alive; /* a loop without active handles does not turn */
static int told;
static bool may_fail;

static void rolled_back(void *arg)
{
    assert_true(may_fail);
}

static void never(uv_timer_t *timer)
{
}

static int open_all(void **state)
{
    struct error err;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(store_open(&store, dir, &err), 0);
    assert_int_equal(uv_loop_init(&loop), 0);
    uv_timer_init(&loop, &alive);
    uv_timer_start(&alive, never, 3600000, 0);
    turn = turn_create(&loop, store, rolled_back, NULL);
    told = 0;
    may_fail = false;
    return 0;
}

static int close_all(void **state)
{
    char rm[128];

    turn_destroy(turn);
    uv_close((uv_handle_t *)&alive, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    assert_false(store_dirty(store));
    store_close(store);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void change(void)
{
    struct error err;

    assert_int_equal(store_event_add(store, 1, "test", 0, -1, NULL, &err), 0);
    assert_true(store_dirty(store));
}

static void tell(void *arg, const struct error *err)
{
    assert_null(err);
    assert_false(store_dirty(store));
    told++;
}

/* What is told is on disk, and whatever has been changed since is not committed yet. */
static void tell_apart(void *arg, const struct error *err)
{
    assert_null(err);
    assert_false(store_owes_flush(store));
    told++;
}

static void changes_are_committed_at_the_end_of_the_turn(void **state)
{
    change();
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_false(store_dirty(store));
}

static void changes_that_nobody_waits_for_are_committed_later(void **state)
{
    turn_be_patient(turn, 50);
    change();
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_true(store_dirty(store));
    TEST_UNTIL(!store_dirty(store), uv_run(&loop, UV_RUN_ONCE)); /* without another event */
}

static void who_waits_is_told_at_once(void **state)
{
    turn_be_patient(turn, 3600000);
    change();
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_true(store_dirty(store));
    turn_after_commit(turn, tell, NULL);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(told, 1);
    assert_false(store_dirty(store));
}

static void what_is_put_off_is_committed_at_the_end(void **state)
{
    turn_be_patient(turn, 3600000);
    change();
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_true(store_dirty(store)); /* close_all() sees that it is not lost */
}

static void what_comes_in_the_pause_after_a_commit_is_told_too(void **state)
{
    turn_pause(turn, 1000000); /* the longest there is */
    for (int i = 1; i <= 20; i++) {
        change();
        turn_after_commit(turn, tell, NULL);
        uv_run(&loop, UV_RUN_NOWAIT);
        TEST_UNTIL(told >= i, uv_run(&loop, UV_RUN_ONCE)); /* without another event */
        assert_false(store_dirty(store));
    }
}

static void until_troubled(bool troubled)
{
    uint64_t until = uv_hrtime() + 60000000000u;

    while ((turn_trouble(turn) != NULL) != troubled) {
        uv_run(&loop, UV_RUN_ONCE);
        if (uv_hrtime() > until)
            fail_msg("it is %s", troubled ? "well" : "still troubled");
    }
}

/* Nobody has to ask for anything, or change it, before the daemon is ready again. */
static void a_state_directory_that_is_gone_and_back_is_noticed(void **state)
{
    struct state_watch *watch = state_watch_create(&loop, store, turn, NULL, NULL);
    char elsewhere[80];

    may_fail = true;
    snprintf(elsewhere, sizeof elsewhere, "%s-elsewhere", dir);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rename(dir, elsewhere), 0);
        until_troubled(true);
        assert_string_equal(turn_trouble(turn)->code, "store_gone");
        assert_int_equal(rename(elsewhere, dir), 0);
        until_troubled(false);
    }
    state_watch_destroy(watch);
}

static void no_loss(void *arg, const struct error *err)
{
    fail();
}

static void a_flush_apart_is_waited_for(void **state)
{
    turn_flush_apart(turn, no_loss, NULL);
    for (int i = 1; i <= 50; i++) {
        change();
        turn_after_commit(turn, tell_apart, NULL);
        uv_run(&loop, UV_RUN_NOWAIT);
        TEST_UNTIL(told >= i, uv_run(&loop, UV_RUN_ONCE)); /* without another event */
        assert_int_equal(store_event_newest(store), i);
    }
}

/* No later than others see the change. */
static void who_waits_is_told_once_it_is_flushed(void **state)
{
    turn_flush_apart(turn, no_loss, NULL);
    for (int i = 1; i <= 50; i++) {
        change();
        turn_after_commit(turn, tell_apart, NULL);
        TEST_UNTIL(store_event_newest(store) >= i, uv_run(&loop, UV_RUN_ONCE));
        assert_int_equal(told, i);
    }
}

static void what_comes_during_a_flush_is_committed_after_it(void **state)
{
    turn_flush_apart(turn, no_loss, NULL);
    for (int i = 0; i < 200; i++) { /* faster than flushes are */
        change();
        turn_after_commit(turn, tell_apart, NULL);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    TEST_UNTIL(told >= 200, uv_run(&loop, UV_RUN_ONCE));
    assert_int_equal(store_event_newest(store), 200);
    assert_false(store_dirty(store));
}

static void who_changes_nothing_waits_for_the_flush_under_way(void **state)
{
    turn_flush_apart(turn, no_loss, NULL);
    for (int i = 1; i <= 50; i++) { /* the first finds none to wait for: a log's header is flushed at once */
        change();
        uv_run(&loop, UV_RUN_NOWAIT);
        turn_after_commit(turn, tell_apart, NULL);
        /* not to wait for events: where the flush is over already, there are none */
        TEST_UNTIL(told >= i, uv_run(&loop, UV_RUN_NOWAIT));
        assert_int_equal(store_event_newest(store), i);
    }
}

static void a_flush_under_way_is_waited_for_at_the_end(void **state)
{
    turn_flush_apart(turn, no_loss, NULL);
    change();
    turn_after_commit(turn, tell_apart, NULL);
    uv_run(&loop, UV_RUN_NOWAIT);
    change(); /* close_all() sees that it is not lost */
}

static int lost;

static void note_loss(void *arg, const struct error *err)
{
    assert_string_equal(err->code, "store_io");
    lost++;
}

static void not_told(void *arg, const struct error *err)
{
    fail();
}

static void what_could_not_be_flushed_is_told_to_nobody(void **state)
{
    turn_flush_apart(turn, note_loss, NULL);
    change();
    turn_after_commit(turn, tell_apart, NULL);
    /* the log's first life has begun: its header is flushed at once */
    TEST_UNTIL(told > 0, uv_run(&loop, UV_RUN_ONCE));
    change();
    turn_after_commit(turn, not_told, NULL);
    faultfs_arm(FAULT_POWER, 2, 1); /* its pages are written, and then */
    lost = 0;
    TEST_UNTIL(lost > 0, uv_run(&loop, UV_RUN_ONCE));
    faultfs_disarm();
    assert_int_equal(store_event_newest(store), 1);
}

static unsigned commits;

static void count_commit(void *arg)
{
    commits++;
}

static void changes_close_upon_each_other_share_commits(void **state)
{
    turn_pause(turn, 1000000);
    turn_on_commit(turn, count_commit, NULL);
    commits = 0;
    for (int i = 0; i < 200; i++) {
        change();
        turn_after_commit(turn, tell, NULL);
        uv_run(&loop, UV_RUN_NOWAIT);
    }
    assert_true(commits < 100);
    TEST_UNTIL(told >= 200, uv_run(&loop, UV_RUN_ONCE));
    turn_on_commit(turn, NULL, NULL);
}

/* --- the log */

static bool is_logged(const char *line)
{
    char path[80], text[4096];
    FILE *f;
    size_t n;

    snprintf(path, sizeof path, "%s/log", dir);
    f = fopen(path, "r");
    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    return strstr(text, line) != NULL;
}

static void begin_log(void)
{
    char path[80];
    struct error err;

    snprintf(path, sizeof path, "%s/log", dir);
    log_init("turn", LOG_LEVEL_INFO);
    assert_int_equal(log_open(path, LOG_TEXT, &err), 0);
}

static void end_log(void)
{
    log_close();
    log_init("turn", LOG_LEVEL_NONE);
}

/* Nobody reads of a change that may still be taken back. */
static void changes_are_logged_once_they_are_committed(void **state)
{
    begin_log();
    turn_be_patient(turn, 3600000);
    change();
    log_change(LOG_LEVEL_INFO, NULL, "one has changed");
    for (int i = 0; i < 3; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    assert_true(store_dirty(store));
    assert_false(is_logged("one has changed"));
    turn_after_commit(turn, tell, NULL);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_true(is_logged("one has changed"));
    log_change(LOG_LEVEL_INFO, NULL, "two had nothing to store");
    assert_false(is_logged("two had nothing to store"));
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_true(is_logged("two had nothing to store"));
    end_log();
}

static void changes_that_are_taken_back_are_never_logged(void **state)
{
    char elsewhere[80];

    begin_log();
    may_fail = true;
    change();
    log_change(LOG_LEVEL_INFO, NULL, "one has changed");
    snprintf(elsewhere, sizeof elsewhere, "%s-elsewhere", dir);
    assert_int_equal(rename(dir, elsewhere), 0);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_non_null(turn_trouble(turn));
    assert_int_equal(rename(elsewhere, dir), 0);
    change();
    log_change(LOG_LEVEL_INFO, NULL, "another has changed");
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_null(turn_trouble(turn));
    assert_true(is_logged("another has changed"));
    assert_false(is_logged("one has changed"));
    end_log();
}

#define WITH_ALL(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ALL(changes_are_committed_at_the_end_of_the_turn),
        WITH_ALL(changes_that_nobody_waits_for_are_committed_later),
        WITH_ALL(who_waits_is_told_at_once),
        WITH_ALL(what_is_put_off_is_committed_at_the_end),
        WITH_ALL(what_comes_in_the_pause_after_a_commit_is_told_too),
        WITH_ALL(a_state_directory_that_is_gone_and_back_is_noticed),
        WITH_ALL(who_waits_is_told_once_it_is_flushed),
        WITH_ALL(a_flush_apart_is_waited_for),
        WITH_ALL(what_comes_during_a_flush_is_committed_after_it),
        WITH_ALL(who_changes_nothing_waits_for_the_flush_under_way),
        WITH_ALL(a_flush_under_way_is_waited_for_at_the_end),
        WITH_ALL(what_could_not_be_flushed_is_told_to_nobody),
        WITH_ALL(changes_close_upon_each_other_share_commits),
        WITH_ALL(changes_are_logged_once_they_are_committed),
        WITH_ALL(changes_that_are_taken_back_are_never_logged),
    };

    if (faultfs_install(true) < 0)
        return 99;
    test_limit(300); /* what is never told would be waited for for ever */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
