/* The memory in which a rank keeps its samples for its next process. */
#include "tasks/train/kept.h"

#include "tasks/train/saved.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RETAIN 10
#define SLOT (KEPT_SLOT_HEAD + 64)
#define OWNER "st-1/1.training.0"

static struct train_config config;
static int memory;

/* Makes the memory as the runner does. */
static int set_up(void **state)
{
    struct kept_head head = {.magic = KEPT_MAGIC, .owner = OWNER};
    char path[64];

    config = (struct train_config){.count = 3, .checkpoint = {.dir = "/checkpoints", .retain = RETAIN}};
    memory = memfd_create("kept", MFD_CLOEXEC);
    assert_true(memory >= 0);
    assert_int_equal(pwrite(memory, &head, sizeof head, 0), sizeof head);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    setenv("STRETTO_KEPT", path, 1);
    setenv("STRETTO_TASK", OWNER, 1);
    return 0;
}

static int tear_down(void **state)
{
    close(memory);
    return 0;
}

static struct kept *begin(const char *resume)
{
    struct kept *kept = kept_open(&config);
    struct error err;

    assert_non_null(kept);
    if (kept_layout(kept, SLOT, resume, &err) < 0)
        fail_msg("%s", err.text);
    kept_begin(kept);
    return kept;
}

static enum kept_state told(void)
{
    struct kept_head head;

    assert_int_equal(pread(memory, &head, sizeof head, 0), sizeof head);
    return (enum kept_state)head.state;
}

static struct kept_slot *take(struct kept *kept, int64_t step)
{
    struct kept_slot *slot = kept_take(kept);

    assert_non_null(slot);
    slot->step = step;
    atomic_store(&slot->have, 1);
    return slot;
}

static int count(void *arg, struct kept_slot *slot)
{
    *(int64_t *)arg += 1 + 1000 * slot->step;
    return 0;
}

/* Returns how many slots the next process finds, and 1000 times the sum of their steps. */
static int64_t left(const char *resume)
{
    struct kept *kept = begin(resume);
    int64_t sum = 0;

    kept_each(kept, count, &sum);
    kept_close(kept);
    return sum;
}

static void what_came_is_found_by_the_next_process(void **state)
{
    int lowest = dup(STDIN_FILENO), after; /* the lowest free descriptor */
    struct kept *kept;
    struct kept_slot *second;

    close(lowest);
    kept = begin(NULL);

    take(kept, 1);
    second = take(kept, 2);
    take(kept, 4);
    kept_give(kept, second, KEPT_NOT_DRAWN); /* it was a duplicate */
    kept_ended(kept)[1] = 3;
    kept_close(kept);
    assert_int_equal(left(NULL), 5002);
    kept = begin(NULL);
    assert_true(kept_ended(kept)[0] == 0 && kept_ended(kept)[1] == 3);
    assert_int_equal(told(), KEPT_COMPLETE);
    kept_close(kept);
    after = dup(STDIN_FILENO);
    close(after);
    assert_int_equal(after, lowest); /* nothing stays open */
}

static void a_drawn_sample_is_kept_until_a_checkpoint_is_whole(void **state)
{
    struct kept *kept = begin(NULL);

    kept_give(kept, take(kept, 1), 1);
    kept_give(kept, take(kept, 2), 2);
    kept_close(kept);
    assert_int_equal(left(NULL), 3002);
    kept = begin(NULL);
    kept_give(kept, take(kept, 4), 1);
    kept_give(kept, take(kept, 8), 2);
    kept_cut_is_whole(kept, 1, "g1-s5");
    kept_give(kept, take(kept, 16), 1); /* the buffer had it for longer */
    kept_close(kept);
    assert_int_equal(left("g1-s5"), 11003);
}

static void a_process_that_ends_leaves_everything(void **state)
{
    struct kept *kept = begin(NULL);
    struct kept_slot *first = take(kept, 1), *second = take(kept, 2);

    kept_freeze(kept);
    kept_give(kept, first, KEPT_NOT_DRAWN);
    kept_give(kept, second, 1);
    kept_cut_is_whole(kept, 1, "g1-s5");
    kept_close(kept);
    assert_int_equal(left("g1-s5"), 3002);
}

static void more_than_is_retained_is_let_go_and_told(void **state)
{
    struct kept *kept = begin(NULL);

    assert_false(kept_is_due(kept, 1, false));
    for (int i = 0; i < RETAIN; i++)
        kept_give(kept, take(kept, 1), 1);
    assert_true(kept_is_due(kept, 1, false));
    assert_false(kept_is_due(kept, 2, false)); /* it was begun, and is being written */
    for (int i = 0; i < RETAIN; i++)
        kept_give(kept, take(kept, 1), 1);
    assert_int_equal(told(), KEPT_COMPLETE);
    kept_give(kept, take(kept, 1), 1);
    assert_int_equal(told(), KEPT_LACKING);
    kept_give(kept, take(kept, 1), 2);
    kept_cut_is_whole(kept, 1, "g1-s5");
    assert_int_equal(told(), KEPT_COMPLETE);
    kept_close(kept);
    assert_int_equal(left("g1-s5"), 1001);
}

static void watch(void *arg, bool full)
{
    *(int *)arg = full;
}

static void reception_waits_at_the_limit(void **state)
{
    struct kept *kept = begin(NULL);
    int full = -1;

    assert_true(kept_watch(kept, watch, &full));
    for (int i = 0; i < 2 * RETAIN - 1; i++)
        kept_give(kept, take(kept, 1), 1);
    assert_int_equal(full, -1);
    kept_give(kept, take(kept, 1), 1);
    assert_int_equal(full, 1);
    assert_true(kept_is_full(kept));
    for (int i = 0; i < RETAIN; i++) /* the buffer had them */
        kept_give(kept, take(kept, 1), 2);
    assert_int_equal(told(), KEPT_COMPLETE);
    kept_cut_is_whole(kept, 1, "g1-s5");
    assert_int_equal(full, 0);
    kept_close(kept);
    assert_int_equal(left("g1-s5"), RETAIN * 1001);
}

/* A checkpoint that fails leaves samples behind that no newer one was drawn with. */
static void a_rank_that_is_full_asks_again_once_nothing_is_being_saved(void **state)
{
    struct kept *kept = begin(NULL);
    int full = -1;

    assert_true(kept_watch(kept, watch, &full));
    for (int i = 0; i < 2 * RETAIN; i++)
        kept_give(kept, take(kept, 1), 1);
    assert_false(kept_is_due(kept, 2, true));
    assert_true(kept_is_due(kept, 2, false));
    kept_close(kept);
}

static void reception_that_gives_up_lets_all_go(void **state)
{
    struct kept *kept = begin(NULL);
    int full = -1;

    assert_true(kept_watch(kept, watch, &full));
    kept_give_up(kept, "it does not wait");
    for (int i = 0; i < 2 * RETAIN; i++)
        kept_give(kept, take(kept, 1), 1);
    kept_give_up(kept, "the disk is full");
    assert_int_equal(full, 0);
    assert_int_equal(told(), KEPT_LACKING);
    for (int i = 0; i < 3 * RETAIN; i++) /* nothing is kept until the next checkpoint */
        kept_give(kept, take(kept, 1), 1);
    assert_int_equal(full, 0);
    kept_cut_is_whole(kept, 1, "g1-s5");
    assert_int_equal(told(), KEPT_COMPLETE);
    kept_close(kept);
}

static void nobody_waits_where_the_spec_does_not_say_so(void **state)
{
    struct kept *kept;
    int full = -1;

    config.checkpoint.retain = -1;
    kept = begin(NULL);
    assert_false(kept_watch(kept, watch, &full));
    kept_close(kept);
}

static void what_lacks_samples_is_refused(void **state)
{
    struct kept *kept = begin(NULL);
    struct error err;

    for (int i = 0; i <= 2 * RETAIN; i++)
        kept_give(kept, take(kept, 1), 1);
    kept_close(kept);
    kept = kept_open(&config);
    assert_int_equal(kept_layout(kept, SLOT, NULL, &err), -1);
    assert_string_equal(err.code, "train_kept");
    kept_close(kept);
}

static void an_older_checkpoint_is_refused(void **state)
{
    static const char *const older[] = {"g1-s4", NULL};
    struct error err;

    for (size_t i = 0; i < 2; i++) {
        struct kept *kept = begin("g1-s5");

        kept_close(kept);
        kept = kept_open(&config);
        assert_int_equal(kept_layout(kept, SLOT, older[i], &err), -1);
        assert_int_equal(told(), KEPT_LACKING); /* so that the runner does not try again */
        kept_close(kept);
        tear_down(state);
        set_up(state);
    }
}

static void memory_of_another_rank_is_not_used(void **state)
{
    setenv("STRETTO_TASK", "st-1/1.training.1", 1);
    assert_null(kept_open(&config));
    setenv("STRETTO_KEPT", "/nowhere", 1);
    assert_null(kept_open(&config));
    config.checkpoint.retain = 0;
    assert_null(kept_open(&config));
}

static void many_slots_are_found_again(void **state)
{
    struct kept *kept = begin(NULL);
    int64_t n = 3 * (16 << 20) / SLOT; /* more than two chunks */

    for (int64_t i = 0; i < n; i++)
        take(kept, 0);
    kept_close(kept);
    assert_int_equal(left(NULL), n);
}

static void checkpoints_are_in_the_order_of_the_processes(void **state)
{
    static const char *const names[] = {"g1-s4", "g1-s40", "g1.1-s5", "g1.1-s5-b", "g1.2-s3", "g1.10-s1", "g2-s1"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t j = 0; j < sizeof names / sizeof *names; j++)
            assert_int_equal(saved_is_older(names[i], names[j]), i < j);
    assert_false(saved_is_older("notes", "g2-s1"));
    assert_false(saved_is_older("g1-s4.old", "g2-s1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_came_is_found_by_the_next_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_drawn_sample_is_kept_until_a_checkpoint_is_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_process_that_ends_leaves_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_than_is_retained_is_let_go_and_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reception_waits_at_the_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_rank_that_is_full_asks_again_once_nothing_is_being_saved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reception_that_gives_up_lets_all_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nobody_waits_where_the_spec_does_not_say_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_lacks_samples_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_older_checkpoint_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_of_another_rank_is_not_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_slots_are_found_again, set_up, tear_down),
        cmocka_unit_test(checkpoints_are_in_the_order_of_the_processes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
