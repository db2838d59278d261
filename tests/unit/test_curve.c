/* Figures of a curve from its points, and the ranks of what is compared by them. */
#include "tests/unit/unit.h"

#include "cli/curve.h"
#include "cli/sweep.h"
#include "cli/sweep_read.h"
#include "common/xalloc.h"

#include <math.h>

static struct curve curve_of(double horizon, double target, bool higher, size_t n, const double points[][2])
{
    struct curve curve;

    curve_begin(&curve, horizon, target, higher);
    for (size_t i = 0; i < n; i++)
        curve_add(&curve, points[i][0], 10 + points[i][0], points[i][1]);
    curve_end(&curve);
    return curve;
}

static void close_to(double got, double wanted)
{
    if (!(fabs(got - wanted) < 1e-9))
        fail_msg("%.12g, not %.12g", got, wanted);
}

static void what_is_not_finite_is_passed_over(void **state)
{
    static const double points[][2] = {{0, NAN}, {1, 4}, {2, NAN}, {3, 2}, {4, INFINITY}};
    struct curve curve = curve_of(3, NAN, false, 5, points);

    close_to(curve.area, 6 + 2);
    close_to(curve.first, 1);
    close_to(curve.last, 2);
    assert_int_equal(curve.points, 5);
    assert_int_equal(curve.not_finite, 3);
    assert_false(curve.ends_finite);
    assert_true(curve_of(4, NAN, false, 4, points).ends_finite);
    curve = curve_of(4, 1, false, 0, points);
    assert_true(isnan(curve.area) && isnan(curve.best) && isnan(curve.reached) && isnan(curve_span(&curve)));
}

static struct curve merged_curve(double horizon, double first, double last)
{
    const struct curve_merged merged = {.at = 2, .last_at = 6, .last_time = 16, .first = first, .last = last,
                                        .min = 0.25, .max = 9, .area = 20, .count = 4, .not_finite = 1};
    struct curve curve;

    curve_begin(&curve, horizon, 0.5, false);
    curve_add(&curve, 0, 10, 4);
    curve_add_merged(&curve, &merged);
    curve_end(&curve);
    return curve;
}

static void merged_points_keep_their_extremes_and_their_area(void **state)
{
    struct curve curve = merged_curve(10, 2, 2);

    close_to(curve.best, 0.25);
    close_to(curve.reached, 16);
    close_to(curve.area, 6 + 20 + 8); /* 20: with a spike, which its first and last values do not show */
    assert_int_equal(curve.points, 5);
    assert_int_equal(curve.not_finite, 1);
    close_to(merged_curve(3, 2, 2).area, 6 + 5); /* a quarter of its time is a quarter of its area */
    close_to(merged_curve(6, NAN, 2).area, 18);  /* a straight line, where not even its ends are known */
}

static void the_clock_stands_still_between_attempts(void **state)
{
    static const double starts[] = {100, 500, NAN};
    struct run_clock clock;

    run_clock_begin(&clock, starts, 3);
    close_to(run_clock_at(&clock, 1, 110), 10);
    close_to(run_clock_at(&clock, 1, 130), 30);
    close_to(run_clock_at(&clock, 2, 505), 35);
    close_to(run_clock_at(&clock, 2, 504), 35); /* the clock of another host */
    close_to(run_clock_at(&clock, 3, 900), 35); /* nobody knows when it began */
    close_to(run_clock_at(&clock, 3, 910), 45);
    run_clock_begin(&clock, starts, 3); /* the points of the first attempt were replaced */
    close_to(run_clock_at(&clock, 2, 505), 5);
}

static void ranges_are_read(void **state)
{
    static const char *const bad[] = {"", ">=1", "a", "a>", "a>=x", "a=1", "a>=1x", "a>=nan"};
    struct sweep_range range;

    assert_int_equal(sweep_range_parse("accuracy>=0.74", &range), 0);
    assert_string_equal(range.metric, "accuracy");
    assert_true(sweep_range_has(&range, 0.74) && sweep_range_has(&range, 0.9));
    assert_false(sweep_range_has(&range, 0.7) || sweep_range_has(&range, NAN));
    assert_int_equal(sweep_range_parse("loss<1e-3", &range), 0);
    assert_true(sweep_range_has(&range, 0));
    assert_false(sweep_range_has(&range, 1e-3) || sweep_range_has(&range, 1) || sweep_range_has(&range, NAN));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sweep_range_parse(bad[i], &range), -1);
}

static void add(struct sweep *sweep, int64_t index, const char *config, const char *group, enum sweep_fate fate,
                double area, double ran)
{
    struct sweep_run *run = sweep_add(sweep);

    *run = (struct sweep_run){.ensemble = 1, .index = index, .fate = fate, .config = xstrdup(config), .shown = xstrdup(config),
                              .parameters = xstrdup(config), .reason = xstrdup(""), .group = xstrdup(group),
                              .figures = {area, NAN, NAN, NAN, ran}};
}

/* The one with the smaller number comes first among equals, in whatever order they were added. */
static void equals_are_in_the_order_of_their_numbers(void **state)
{
    struct sweep sweep = {.by = SWEEP_LAST, .time = SWEEP_RAN, .higher = true};

    add(&sweep, 3, "a", "0", SWEEP_RANKED, 1, 10);
    add(&sweep, 1, "b", "0", SWEEP_RANKED, 1, 20);
    add(&sweep, 2, "c", "5", SWEEP_RANKED, 1, 30);
    add(&sweep, 0, "c", "5", SWEEP_STOPPED, NAN, NAN);
    add(&sweep, 4, "d", "", SWEEP_FAILED, NAN, NAN);
    for (int i = 0; i < 3; i++)
        sweep.runs[i].figures[SWEEP_LAST] = 7;
    sweep.runs[1].ensemble = 2;
    sweep_settle(&sweep);
    assert_string_equal(sweep.configs[0].runs[0]->config, "c"); /* 1.0 before 1.3 before 2.1 */
    assert_int_equal(sweep.configs[0].runs[0]->index, 0);
    assert_string_equal(sweep.configs[1].runs[0]->config, "a");
    assert_string_equal(sweep.configs[2].runs[0]->config, "b");
    assert_int_equal(sweep.configs[2].rank, 3);
    assert_int_equal(sweep.n_groups, 3);
    assert_true(isnan(sweep.groups[1].speed_up)); /* none can be had against 0 */
    assert_int_equal(sweep.groups[0].configs, 2);
    assert_int_equal(sweep.groups[0].ranked, 2);
    assert_string_equal(sweep.groups[2].value, "");
    assert_int_equal(sweep.groups[2].ranked, 0);
    sweep_fini(&sweep);
}

static void of_what_is_not_finite_there_is_no_mean(void **state)
{
    struct sweep_stat stat = sweep_stat_of((double[]){NAN, 2, INFINITY, 6}, 4);

    assert_int_equal(stat.n, 2);
    close_to(stat.mean, 4);
    close_to(stat.deviation, sqrt(8));
    stat = sweep_stat_of((double[]){3, NAN}, 2);
    assert_int_equal(stat.n, 1);
    close_to(stat.mean, 3);
    assert_true(isnan(stat.deviation));
    stat = sweep_stat_of((double[]){NAN}, 1);
    assert_true(stat.n == 0 && isnan(stat.mean));
}

static void a_time_is_better_when_it_is_short(void **state)
{
    struct sweep sweep = {.by = SWEEP_RAN, .time = SWEEP_RAN, .higher = true};

    add(&sweep, 0, "a", "1", SWEEP_RANKED, 1, 100);
    add(&sweep, 1, "b", "1", SWEEP_RANKED, 2, 50);
    sweep_settle(&sweep);
    assert_string_equal(sweep.configs[0].runs[0]->config, "b");
    sweep_fini(&sweep);
    sweep = (struct sweep){.by = SWEEP_AREA, .higher = true};
    add(&sweep, 0, "a", "1", SWEEP_RANKED, 1, 50);
    add(&sweep, 1, "b", "1", SWEEP_RANKED, 2, 100);
    sweep_settle(&sweep);
    assert_string_equal(sweep.configs[0].runs[0]->config, "b");
    sweep_fini(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_finite_is_passed_over),
        cmocka_unit_test(merged_points_keep_their_extremes_and_their_area),
        cmocka_unit_test(the_clock_stands_still_between_attempts),
        cmocka_unit_test(ranges_are_read),
        cmocka_unit_test(equals_are_in_the_order_of_their_numbers),
        cmocka_unit_test(of_what_is_not_finite_there_is_no_mean),
        cmocka_unit_test(a_time_is_better_when_it_is_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
