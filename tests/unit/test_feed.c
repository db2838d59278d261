/* Who waits for events, in virtual time: the clock, the timers and the commits are the test's. */
#include "api/feed.h"
#include "daemon/store/event.h"
#include "tests/unit/unit.h"
#include "tests/unit/virtual_uv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEARTBEAT 1000
#define QUARTER (HEARTBEAT / 4)
#define WAITERS 7

/* --- the daemon's commits */

static void (*committed)(void *arg);
static void *committed_arg;
static struct store *store;
static char dir[64];

void turn_on_commit(struct turn *turn, void (*cb)(void *arg), void *arg)
{
    committed = cb;
    committed_arg = arg;
}

static void commit(int64_t events)
{
    struct error err;

    for (int64_t i = 0; i < events; i++)
        assert_int_equal(store_event_put(store, 1, "x", 1, -1, NULL, &err), 0);
    assert_int_equal(store_commit(store, &err), 0);
    committed(committed_arg);
}

/* --- those who wait */

static struct listener {
    struct feed_waiter waiter; /* first */
    enum feed_look answer;
    bool over, deaf; /* deaf: a sign of life cannot be sent */
    int looks, beats, wakes;
    uint64_t heard;   /* when it was sent something the last time */
    uint64_t silence; /* the longest */
} listeners[WAITERS];

static struct feed *feed;

static void hears(struct listener *l)
{
    uint64_t silent = virtual_uv_now() - l->heard;

    l->silence = silent > l->silence ? silent : l->silence;
    l->heard = virtual_uv_now();
}

static enum feed_look on_look(struct feed_waiter *waiter)
{
    struct listener *l = (struct listener *)waiter;

    l->looks++;
    if (l->answer != FEED_WAITS)
        hears(l);
    return l->answer;
}

static bool on_beat(struct feed_waiter *waiter)
{
    struct listener *l = (struct listener *)waiter;

    l->beats++;
    hears(l);
    return !l->deaf;
}

static void on_wake(struct feed_waiter *waiter)
{
    ((struct listener *)waiter)->wakes++;
}

static bool is_over(struct feed_waiter *waiter)
{
    return ((struct listener *)waiter)->over;
}

static int open_feed(void **state)
{
    static struct api_config config;
    struct error err;

    memset(listeners, 0, sizeof listeners);
    virtual_uv_begin(1000000);
    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    if (mkdtemp(dir) == NULL || store_open(&store, dir, &err) < 0)
        return -1;
    config = (struct api_config){.heartbeat_ms = HEARTBEAT, .store = store};
    feed = feed_create(&config);
    for (int i = 0; i < WAITERS; i++) {
        struct listener *l = &listeners[i];

        l->waiter = (struct feed_waiter){.look = on_look, .beat = on_beat, .wake = on_wake, .over = is_over};
        l->answer = FEED_TOLD;
        if (feed_join(feed, 0, &err) < 0)
            return -1;
    }
    return 0;
}

static int close_feed(void **state)
{
    char rm[128];

    for (int i = 0; i < WAITERS; i++)
        feed_leave(feed, 0);
    feed_destroy(feed);
    store_close(store);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void wait_all(void)
{
    for (int i = 0; i < WAITERS; i++) {
        listeners[i].heard = virtual_uv_now();
        feed_wait(feed, &listeners[i].waiter, false);
    }
}

static void nobody_is_silent_for_longer_than_a_heartbeat(void **state)
{
    for (int i = 0; i < WAITERS; i++) { /* at any moment between two looks of the feed's */
        virtual_uv_go_on(i == 0 ? 1 : QUARTER / 3);
        listeners[i].heard = virtual_uv_now();
        feed_wait(feed, &listeners[i].waiter, false);
    }
    virtual_uv_go_on(100 * HEARTBEAT);
    for (int i = 0; i < WAITERS; i++) {
        assert_in_range(listeners[i].silence, 3 * QUARTER, HEARTBEAT);
        assert_in_range(listeners[i].beats, 100, 134); /* and not much more often than that takes */
    }
}

static void only_what_was_told_is_a_sign_of_life(void **state)
{
    listeners[0].answer = FEED_WAITS; /* the news are none for this one */
    wait_all();
    for (int i = 0; i < 20 * 4; i++) {
        virtual_uv_go_on(QUARTER);
        commit(1);
    }
    for (int i = 0; i < WAITERS; i++)
        assert_in_range(listeners[i].silence, 0, HEARTBEAT);
    assert_true(listeners[0].beats >= 19);
    assert_int_equal(listeners[1].beats, 0);
}

static void who_cannot_be_told_waits_no_more(void **state)
{
    listeners[2].deaf = true;
    wait_all();
    virtual_uv_go_on(10 * HEARTBEAT);
    assert_int_equal(listeners[2].beats, 1);
    assert_true(listeners[1].beats >= 10);
    commit(1);
    virtual_uv_go_on(HEARTBEAT);
    assert_int_equal(listeners[2].looks, 0);
    assert_int_equal(listeners[1].looks, 1);
    listeners[1].answer = FEED_WENT;
    commit(1);
    virtual_uv_go_on(HEARTBEAT);
    commit(1);
    virtual_uv_go_on(10 * HEARTBEAT);
    assert_int_equal(listeners[1].looks, 2);
    assert_int_equal(listeners[0].looks, 3);
}

/* News that come in quick succession are told together, and none is left until others come. */
static void rounds_leave_time_for_other_things(void **state)
{
    int before;

    wait_all();
    commit(1);
    virtual_uv_go_on(0);
    before = listeners[0].looks;
    for (int i = 0; i < 100; i++) {
        commit(1);
        virtual_uv_go_on(1);
    }
    assert_in_range(listeners[0].looks - before, 3, 7);
    virtual_uv_go_on(100);
    assert_int_equal(feed_upto(feed), 101);
    before = listeners[0].looks;
    virtual_uv_go_on(5 * HEARTBEAT);
    assert_int_equal(listeners[0].looks, before);
}

static void who_has_more_to_catch_up_with_is_asked_again(void **state)
{
    wait_all();
    listeners[3].answer = FEED_AGAIN;
    commit(1);
    virtual_uv_go_on(10);
    assert_true(listeners[3].looks > 3);
    assert_int_equal(listeners[2].looks, 1);
    listeners[3].answer = FEED_TOLD;
    virtual_uv_go_on(10);
    assert_int_equal(feed_upto(feed), 1);
    commit(1);
    virtual_uv_go_on(HEARTBEAT);
    assert_int_equal(listeners[2].looks, 2);
    assert_int_equal(feed_upto(feed), 2);
}

/* A token that was revoked is of no use once that is on the disk; one that has expired, within a part of a
 * heartbeat. */
static void who_may_hear_no_more_is_woken(void **state)
{
    wait_all();
    listeners[4].over = true;
    feed_review(feed);
    assert_int_equal(listeners[4].wakes, 0);
    commit(0);
    assert_int_equal(listeners[4].wakes, 1);
    listeners[5].over = true;
    commit(1);
    assert_int_equal(listeners[5].wakes, 0); /* nobody has said that somebody lost the right */
    virtual_uv_go_on(QUARTER);
    assert_int_equal(listeners[5].wakes, 1);
    virtual_uv_go_on(5 * HEARTBEAT);
    for (int i = 0; i < WAITERS; i++)
        assert_int_equal(listeners[i].wakes, i == 4 || i == 5);
    assert_int_equal(listeners[4].looks, 0);
}

static void all_are_woken_at_the_end(void **state)
{
    struct listener *last = &listeners[6];

    for (int i = 0; i < WAITERS - 1; i++)
        feed_wait(feed, &listeners[i].waiter, false);
    feed_wait(feed, &last->waiter, true);
    assert_false(feed_ending(feed));
    assert_int_equal(close_feed(state), 0);
    assert_null(committed);
    for (int i = 0; i < WAITERS; i++)
        assert_int_equal(listeners[i].wakes, 1);
}

#define WITH_FEED(test) cmocka_unit_test_setup_teardown(test, open_feed, close_feed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FEED(nobody_is_silent_for_longer_than_a_heartbeat),
        WITH_FEED(only_what_was_told_is_a_sign_of_life),
        WITH_FEED(who_cannot_be_told_waits_no_more),
        WITH_FEED(rounds_leave_time_for_other_things),
        WITH_FEED(who_has_more_to_catch_up_with_is_asked_again),
        WITH_FEED(who_may_hear_no_more_is_woken),
        cmocka_unit_test_setup(all_are_woken_at_the_end, open_feed),
    };

    test_limit(30);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
