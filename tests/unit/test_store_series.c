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
    assert_int_equal(store_series_each_point(store, &row, INT64_MIN, INT64_MAX, INT64_MAX, keep, NULL, &err), 0);
    assert_int_equal(got.n, row.entries);
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
        fail_msg("last %g, %g to %g, area %g, %lld points; not last %g, %g to %g, area %g, %lld points", row->last,
                 row->min, row->max, row->area, (long long)row->points, last, min, max, area, (long long)points);
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
    assert_int_equal(row.width, 64); /* what is left was merged, and so is what comes */
    add(3, "loss", 2, 2502, 7, 0);
    row = read_series(3, "loss");
    assert_int_equal(got.points[got.n - 1].count, 2);
    add(3, "loss", 3, 0, 1, 0); /* nothing is left that was merged: each point is kept again */
    row = read_series(3, "loss");
    assert_int_equal(row.width, 1);
    for (int64_t step = 1; step < 10; step++)
        add(3, "loss", 3, step, 1, 0);
    row = read_series(3, "loss");
    assert_int_equal(got.n, 10);
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

/* The reports of a follow-up's attempt continue the series that the member had. */
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
    assert_int_equal(store_series_open(store, ensemble, 0, "loss", &row, &err), 1); /* before anything is reported */
    row = read_series(0, "loss");
    figures_are(&row, 2, 1, 3, 8, 3);
    add(0, "loss", 1, 5, 0.5, 0); /* steps 0, 1 and 5 were there */
    row = read_series(0, "loss");
    assert_true(row.file_attempt == 0 && row.file_read == 0);
    figures_are(&row, 0.5, 0.5, 3, 2, 3);
    assert_int_equal(got.points[1].attempt, 0);
    assert_int_equal(got.points[2].attempt, 1);
    ensemble = first;
    row = read_series(0, "loss");
    figures_are(&row, 2, 1, 3, 8, 3);
}

static uint64_t seed = 11;

static int64_t random_below(int64_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)(seed >> 33) % below;
}

/* What the series of the next test has to have: its points, one by one. */
static struct series_point known[KEEP];
static int64_t n_known;

static bool is_known(const struct series_point *p, int64_t at)
{
    const struct series_point *k = &known[at];

    return p->step == k->step && p->last_step == k->step && p->time_ms == k->time_ms && p->attempt == k->attempt &&
           same(p->last, k->last) && same(p->first, k->last) && p->area == k->area && p->count == 1;
}

/* Reads a part of the series, and compares it with what is known. */
static void part_is_known(const struct series_row *row, int64_t after, int64_t to, int64_t limit)
{
    int64_t begin = 0, end = 0, first = 0, last = 0, any;
    struct error err;

    while (begin < n_known && known[begin].step <= after)
        begin++;
    for (end = begin; end < n_known && known[end].step <= to;)
        end++;
    got.n = 0;
    assert_int_equal(store_series_each_point(store, row, after, to, limit, keep, NULL, &err), 0);
    assert_int_equal(got.n, end - begin < limit ? end - begin : limit);
    for (int64_t i = 0; i < got.n; i++)
        assert_true(is_known(&got.points[i], begin + i));
    any = store_series_bounds(store, row, after + 1, to, &first, &last, &err);
    assert_int_equal(any, end > begin);
    if (any)
        assert_true(first == known[begin].step && last == known[end - 1].step);
}

static void add_known(struct series_row *row, int64_t step)
{
    double value = random_below(9) == 0 ? NAN : (double)random_below(1000) / 8;
    struct series_point point = series_point_of(step, random_below(INT64_C(1) << 40), random_below(4), value, 0.5);
    struct error err;

    while (n_known > 0 && known[n_known - 1].step >= step)
        n_known--;
    known[n_known++] = point;
    assert_int_equal(store_series_add(store, row, &point, KEEP, &err), 0);
}

/* The caller may keep the row between changes, or read it anew: that makes no difference. */
static void every_part_of_a_series_has_its_points(void **state)
{
    struct series_row row;
    struct error err;

    assert_int_equal(store_series_open(store, ensemble, 5, "loss", &row, &err), 1);
    for (int i = 0; i < 3000; i++) {
        int64_t last = n_known > 0 ? known[n_known - 1].step : -1000000, step = last + 1 + random_below(3);

        if (n_known == KEEP || random_below(20) == 0)
            step = last - random_below(random_below(4) == 0 ? 300 : 30);
        add_known(&row, step);
        if (random_below(3) == 0) {
            assert_int_equal(store_series_save(store, &row, &err), 0);
            assert_int_equal(store_series_get(store, ensemble, 5, "loss", &row, &err), 1);
        }
        assert_true(row.points == n_known && row.entries == n_known && row.width == 1 && row.step == step);
        part_is_known(&row, INT64_MIN, INT64_MAX - 1, INT64_MAX);
        part_is_known(&row, step - random_below(150), step - random_below(150), 1 + random_below(40));
    }
    assert_int_equal(store_series_save(store, &row, &err), 0);
}

/* How far the file of an attempt was read is known by its own series, whichever of them had points last. */
static void a_file_is_read_on_where_its_last_points_were(void **state)
{
    static const struct {
        const char *name;
        int64_t attempt, read;
    } files[] = {{"a", 1, 900}, {"b", 2, 50}, {"c", 2, 70}, {"b", 2, 60}, {"d", 3, 10}};
    static const int64_t expected[] = {0, 900, 70, 10, 0};
    struct series_row row;
    struct error err;
    int64_t read;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct series_point point = series_point_of((int64_t)i, 1, files[i].attempt, 1, 0);

        assert_int_equal(store_series_open(store, ensemble, 6, files[i].name, &row, &err), 1);
        assert_int_equal(store_series_add(store, &row, &point, KEEP, &err), 0);
        row.file_attempt = files[i].attempt;
        row.file_read = files[i].read;
        assert_int_equal(store_series_save(store, &row, &err), 0);
    }
    add(6, "c", 0, 9, 1, 0); /* from elsewhere, as what a training reports of the member */
    for (int64_t attempt = 0; attempt < 5; attempt++) {
        assert_int_equal(store_series_file_read(store, ensemble, 6, attempt, &read, &err), 0);
        assert_int_equal(read, expected[attempt]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_follow_points),
        cmocka_unit_test(nan_and_infinities_are_kept),
        cmocka_unit_test(a_resumed_attempt_replaces_later_steps),
        cmocka_unit_test(long_series_are_merged_and_lose_no_spike),
        cmocka_unit_test(a_member_has_a_bounded_number_of_series),
        cmocka_unit_test(every_part_of_a_series_has_its_points),
        cmocka_unit_test(a_file_is_read_on_where_its_last_points_were),
        cmocka_unit_test(a_follow_up_goes_on_the_series),
    };

    return cmocka_run_group_tests(tests, open_all, close_all);
}
