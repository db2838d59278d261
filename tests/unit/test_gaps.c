/* Steps that a member left out between two attempts. */
#include "tasks/train/gaps.h"
#include "tests/unit/unit.h"

/* An attempt as one rank of several sees it. */
struct attempt {
    struct gaps gaps;
    struct gaps_of of;
    struct stepset *have;
    struct dealing *dealing;
};

static void deal(struct attempt *a, int ranks, int rank)
{
    *a = (struct attempt){.have = stepset_create(), .dealing = dealing_create(ranks)};
    a->of = (struct gaps_of){.have = a->have, .dealing = a->dealing, .rank = rank, .member = 3};
}

static void fold(struct attempt *a)
{
    stepset_destroy(a->have);
    dealing_destroy(a->dealing);
}

static void begin(struct attempt *a)
{
    struct gaps next = {0};

    gaps_follow(&next, &a->gaps, &a->of);
    a->gaps = next;
}

static void sends(struct attempt *a, int64_t from, int64_t to, int64_t stride)
{
    for (int64_t step = from; step <= to; step += stride)
        if (dealing_rank(a->dealing, 3, step) == a->of.rank) {
            gaps_note(&a->gaps, step);
            assert_int_equal(stepset_reserve(a->have), 0);
            stepset_add(a->have, 3, step);
        }
}

static void lacks(const struct attempt *a, int64_t wanted, int64_t wanted_from, int64_t wanted_to)
{
    int64_t from = -1, to = -1;

    assert_int_equal(gaps_count(&a->gaps, &a->of, &from, &to), wanted);
    if (wanted > 0) {
        assert_int_equal(from, wanted_from);
        assert_int_equal(to, wanted_to);
    }
}

static int setup(void **state)
{
    static struct attempt a;

    deal(&a, 1, 0);
    *state = &a;
    return 0;
}

static int teardown(void **state)
{
    fold(*state);
    return 0;
}

static void what_lies_between_two_attempts_is_missing(void **state)
{
    struct attempt *a = *state;

    sends(a, 0, 39, 1);
    lacks(a, 0, 0, 0);
    begin(a);
    sends(a, 60, 99, 1);
    lacks(a, 20, 40, 59);
}

static void an_attempt_may_begin_where_the_one_before_ended_or_earlier(void **state)
{
    struct attempt *a = *state;

    sends(a, 0, 390, 10);
    begin(a);
    sends(a, 400, 450, 10);
    lacks(a, 0, 0, 0);
    begin(a);
    sends(a, 100, 990, 10);
    lacks(a, 0, 0, 0);
}

static void one_step_is_enough(void **state)
{
    struct attempt *a = *state;

    sends(a, 0, 390, 10);
    begin(a);
    sends(a, 410, 990, 10);
    lacks(a, 1, 400, 400);
}

static void a_later_attempt_may_send_them(void **state)
{
    struct attempt *a = *state;

    sends(a, 0, 39, 1);
    begin(a);
    sends(a, 60, 70, 1);
    begin(a);
    sends(a, 71, 99, 1);
    lacks(a, 20, 40, 59);
    begin(a);
    sends(a, 0, 49, 1);
    lacks(a, 10, 50, 59);
    begin(a);
    sends(a, 50, 99, 1);
    lacks(a, 0, 0, 0);
}

static void earlier_attempts_may_have_sent_them(void **state)
{
    struct attempt *a = *state;

    sends(a, 0, 80, 1);
    begin(a);
    sends(a, 0, 20, 1);
    begin(a);
    sends(a, 60, 99, 1);
    lacks(a, 0, 0, 0);
}

static void an_attempt_that_sent_nothing_changes_nothing(void **state)
{
    struct attempt *a = *state;

    sends(a, 0, 39, 1);
    begin(a);
    begin(a);
    sends(a, 41, 99, 1);
    lacks(a, 1, 40, 40);
}

/* Steps that several ranks lack are all told, by the ranks to which they belong, and nothing else is. */
static void ranks_lack_what_is_dealt_to_them(void **state)
{
    static const int64_t strides[] = {1, 2, 3, 10, 101, 250, 1000};

    for (int ranks = 2; ranks <= 7; ranks++)
        for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
            int64_t stride = strides[i], missing = 0, offset = stride > 1;

            for (int rank = 0; rank < ranks; rank++) {
                int64_t from, to;
                struct attempt a;

                deal(&a, ranks, rank);
                sends(&a, offset, offset + 99 * stride, stride);
                begin(&a);
                sends(&a, offset + 100 * stride, offset + 149 * stride, stride);
                lacks(&a, 0, 0, 0);
                begin(&a);
                sends(&a, offset + 190 * stride, offset + 299 * stride, stride);
                missing += gaps_count(&a.gaps, &a.of, &from, &to);
                fold(&a);
            }
            if (missing != 40)
                fail_msg("%d ranks, steps %d apart: %d of 40 are told", ranks, (int)stride, (int)missing);
        }
}

static void nothing_is_told_of_steps_without_order(void **state)
{
    for (int rank = 0; rank < 3; rank++) {
        struct attempt a;

        deal(&a, 3, rank);
        for (int64_t step = 0; step < 100; step += 1 + step % 7) /* unequal distances */
            sends(&a, step, step, 1);
        begin(&a);
        for (int64_t step = 200; step < 300; step += 1 + step % 5)
            sends(&a, step, step, 1);
        lacks(&a, 0, 0, 0);
        begin(&a);
        for (int64_t step = 499; step >= 400; step--) /* backwards */
            sends(&a, step, step, 1);
        lacks(&a, 0, 0, 0);
        fold(&a);
    }
}

static void nothing_is_told_of_changing_distances(void **state)
{
    struct attempt *a = *state;

    sends(a, 0, 10, 1);
    begin(a);
    sends(a, 100, 990, 10);
    lacks(a, 0, 0, 0);
    begin(a);
    gaps_note(&a->gaps, 2000);
    lacks(a, 0, 0, 0);
    gaps_note(&a->gaps, 1995);
    lacks(a, 0, 0, 0);
}

/* The same distances, but steps that those before would never have come to. */
static void nothing_is_told_of_steps_in_between(void **state)
{
    struct attempt *a = *state;

    sends(a, 0, 390, 10);
    begin(a);
    sends(a, 435, 995, 10);
    lacks(a, 0, 0, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_lies_between_two_attempts_is_missing),
        TEST(an_attempt_may_begin_where_the_one_before_ended_or_earlier),
        TEST(one_step_is_enough),
        TEST(a_later_attempt_may_send_them),
        TEST(earlier_attempts_may_have_sent_them),
        TEST(an_attempt_that_sent_nothing_changes_nothing),
        TEST(nothing_is_told_of_changing_distances),
        TEST(nothing_is_told_of_steps_in_between),
        cmocka_unit_test(ranks_lack_what_is_dealt_to_them),
        cmocka_unit_test(nothing_is_told_of_steps_without_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
