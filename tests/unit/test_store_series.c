/* Metric series of members: what is kept of them, replaced, merged and told. */
#include "daemon/store/ensemble.h"
#include "daemon/store/internal.h"
#include "daemon/store/job.h"
#include "daemon/store/member.h"
#include "daemon/store/series.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP 100

static char dir[64];
static struct store *store;
static int64_t ensemble;

static struct {
    struct series_point points[2 * KEEP];
    int64_t n;
} got;

static int64_t insert_ensemble(int64_t root, int64_t parent)
{
    struct ensemble_row ens = {.name = "x", .adapter = "local", .stream_key = "0", .count = 9, .width = 1, .created_ms = 1, .root = root, .parent = parent};
    struct error err;

    assert_int_equal(store_ensemble_insert(store, &ens, "{}", &err), 0);
    return ens.id;
}

static int open_all(void **state)
{
    struct member_row member = {.state = MEMBER_RUNNING};
    struct error err;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(store_open(&store, dir, &err), 0);
    member.ensemble = ensemble = insert_ensemble(0, 0);
    for (member.index = 0; member.index < 9; member.index++)
        assert_int_equal(store_member_put(store, &member, &err), 0);
    return 0;
}

static int close_all(void **state)
{
    char rm[128];

    store_close(store);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void add(int64_t index, const char *name, int64_t attempt, int64_t step, double value, double area)
{
    struct series_point point = series_point_of(step, 1000 * (step + 1), attempt, value, area);
    struct series_row row;
    struct error err;

    assert_int_equal(store_series_open(store, ensemble, index, name, &row, &err), 1);
    assert_int_equal(store_series_add(store, &row, &point, KEEP, &err), 0);
    assert_int_equal(store_series_save(store, &row, &err), 0);
}

static int keep(void *arg, const struct series_point *point)
{
    assert_true(got.n < 2 * KEEP);
    got.points[got.n++] = *point;
    return 0;
}

static struct series_row read_series(int64_t index, const char *name)
{
    struct series_row row;
    struct error err;

    assert_int_equal(store_series_get(store, ensemble, index, name, &row, &err), 1);
    got.n = 0;
    assert_int_equal(store_series_each_point(store, row.id, INT64_MIN, INT64_MAX, INT64_MAX, keep, NULL, &err), 0);
    assert_int_equal(got.n, row.rows);
    return row;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void figures_are(const struct series_row *row, double last, double min, double max, double area, int64_t points)
{
    if (!same(row->last, last) || !same(row->min, min) || !same(row->max, max) || fabs(row->area - area) > 1e-9 ||
        row->points != points)
        fail_msg("last %g, %g to %g, area %g, %lld points; not last %g, %g to %g, area %g, %lld points", row->last, row->min,
                 row->max, row->area, (long long)row->points, last, min, max, area, (long long)points);
}

static void figures_follow_points(void **state)
{
    struct series_row row;

    add(0, "loss", 1, 0, 3, 0);
    add(0, "loss", 1, 1, 1, 2);
    add(0, "loss", 1, 5, 2, 6);
    row = read_series(0, "loss");
    figures_are(&row, 2, 1, 3, 8, 3);
    assert_int_equal(row.first_time_ms, 1000);
    assert_int_equal(row.time_ms, 6000);
    assert_int_equal(row.step, 5);
    assert_int_equal(row.attempt, 1);
    assert_int_equal(got.points[1].step, 1);
    assert_true(got.points[1].last == 1);
}

static void nan_and_infinities_are_kept(void **state)
{
    struct series_row row;

    add(1, "loss", 1, 1, 3, 0);
    add(1, "loss", 1, 2, INFINITY, 0);
    add(1, "loss", 1, 3, -INFINITY, 0);
    row = read_series(1, "loss");
    figures_are(&row, -INFINITY, 3, 3, 0, 3);
    add(1, "loss", 1, 4, NAN, NAN);
    row = read_series(1, "loss");
    figures_are(&row, NAN, 3, 3, 0, 4);
    assert_int_equal(row.not_finite, 3);
    assert_true(isinf(got.points[1].last) && isinf(got.points[2].last) && isnan(got.points[3].last));
}

/* A later attempt that goes on from step 3 replaces that and what came after it, and no more. */
static void a_resumed_attempt_replaces_later_steps(void **state)
{
    struct series_row row;

    for (int64_t step = 0; step < 10; step++)
        add(2, "loss", 1, step, step == 7 ? 100 : 10 - (double)step, 1);
    add(2, "loss", 2, 3, 6.5, 0);
    add(2, "loss", 2, 4, 5.5, 2);
    row = read_series(2, "loss");
    figures_are(&row, 5.5, 5.5, 10, 5, 5);
    assert_int_equal(got.n, 5);
    assert_int_equal(got.points[2].attempt, 1);
    assert_int_equal(got.points[3].attempt, 2);
    add(2, "loss", 3, 0, NAN, 0); /* begins anew */
    row = read_series(2, "loss");
    figures_are(&row, NAN, NAN, NAN, 0, 1);
    assert_int_equal(got.n, 1);
}

static void long_series_are_merged_and_lose_no_spike(void **state)
{
    struct series_row row;
    int64_t count = 0;

    for (int64_t step = 0; step < 5000; step++)
        add(3, "loss", 1, step, step == 1234 ? 1e6 : step == 4321 ? NAN : 1, 0.5);
    row = read_series(3, "loss");
    figures_are(&row, 1, 1, 1e6, 2500, 5000);
    assert_true(got.n <= KEEP && got.n >= KEEP / 2);
    assert_int_equal(row.width, 64);
    for (int64_t i = 0; i < got.n; i++) {
        const struct series_point *p = &got.points[i];

        assert_int_equal(p->step, count);
        assert_int_equal(p->count, i < got.n - 1 ? 64 : 5000 - count);
        count += p->count;
        assert_int_equal(p->last_step, count - 1);
        assert_true(p->max == (p->step <= 1234 && p->last_step >= 1234 ? 1e6 : 1));
        assert_int_equal(p->not_finite, p->step <= 4321 && p->last_step >= 4321);
    }
    assert_int_equal(count, 5000);
    add(3, "loss", 2, 2501, 7, 0); /* within a row that was merged */
    row = read_series(3, "loss");
    assert_true(row.last == 7 && row.step == 2501 && isfinite(row.min));
    assert_int_equal(got.points[got.n - 1].step, 2501);
    assert_int_equal(got.points[got.n - 2].last_step, 2500);
}

static int count_series(void *arg, const struct series_row *row)
{
    (*(int *)arg)++;
    return 0;
}

static void a_member_has_a_bounded_number_of_series(void **state)
{
    struct series_row row;
    struct error err;
    char name[32];
    int n = 0;

    for (int i = 0; i < SERIES_MAX; i++) {
        snprintf(name, sizeof name, "s%d", i);
        add(4, name, 1, 0, i, 0);
    }
    assert_int_equal(store_series_open(store, ensemble, 4, "another", &row, &err), 0);
    assert_int_equal(store_series_open(store, ensemble, 4, "s7", &row, &err), 1);
    assert_int_equal(store_series_each(store, ensemble, 4, "", count_series, &n, &err), 0);
    assert_int_equal(n, SERIES_MAX);
    n = 0;
    assert_int_equal(store_series_each_of(store, ensemble, 0, 9, "loss", count_series, &n, &err), 0);
    assert_int_equal(n, 4);
}

/* What a follow-up's attempt reports goes on the series that the member had. */
static void a_follow_up_goes_on_the_series(void **state)
{
    int64_t first = ensemble;
    struct series_row row;
    struct error err;

    ensemble = insert_ensemble(first, first);
    assert_int_equal(store_exec(store, &err, "UPDATE member SET state = 'unfinished', successor = ?2 WHERE ensemble = ?1 AND idx = 0", "ii",
                                first, ensemble), 0);
    assert_int_equal(store_exec(store, &err, "INSERT INTO member (ensemble, idx, state, predecessor) VALUES (?1, 0, 'running', ?2)", "ii",
                                ensemble, first), 0);
    add(0, "loss", 1, 5, 0.5, 0); /* steps 0, 1 and 5 were there */
    row = read_series(0, "loss");
    figures_are(&row, 0.5, 0.5, 3, 2, 3);
    assert_int_equal(got.points[1].attempt, 0);
    assert_int_equal(got.points[2].attempt, 1);
    ensemble = first;
    row = read_series(0, "loss");
    figures_are(&row, 2, 1, 3, 8, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_follow_points),
        cmocka_unit_test(nan_and_infinities_are_kept),
        cmocka_unit_test(a_resumed_attempt_replaces_later_steps),
        cmocka_unit_test(long_series_are_merged_and_lose_no_spike),
        cmocka_unit_test(a_member_has_a_bounded_number_of_series),
        cmocka_unit_test(a_follow_up_goes_on_the_series),
    };

    return cmocka_run_group_tests(tests, open_all, close_all);
}
