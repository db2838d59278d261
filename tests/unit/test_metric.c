/* Metric series of a training, in pieces whose cost does not grow with what there is. */
#include "daemon/store/ensemble.h"
#include "daemon/store/internal.h"
#include "daemon/store/training.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_MAX 600

static char dir[64];
static struct store *store;
static int64_t training;

static struct {
    struct metric_point points[POINTS_MAX];
    int64_t n, most; /* told so far; where to stop */
} got;

static int open_all(void **state)
{
    struct ensemble_row ens = {.name = "x", .adapter = "local", .stream_key = "0", .count = 1, .width = 1, .created_ms = 1};
    struct training_row row = {.ranks = 1, .generation = 1, .created_ms = 1};
    struct error err;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(store_open(&store, dir, &err), 0);
    assert_int_equal(store_ensemble_insert(store, &ens, "{}", &err), 0);
    row.ensemble = ens.id;
    assert_int_equal(store_training_insert(store, &row, &err), 0);
    training = row.id;
    return 0;
}

static int close_all(void **state)
{
    char rm[128];

    store_close(store);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static void put(const char *name, int64_t step, int64_t rank, double value)
{
    struct metric_point point = {.step = step, .rank = rank, .time_ms = 1, .value = value};
    struct error err;

    assert_int_equal(store_metric_put(store, training, name, &point, &err), 0);
}

static int keep(void *arg, const struct metric_point *point)
{
    got.points[got.n++] = *point;
    return got.n == got.most;
}

/* In order, none twice. */
static void check_order(void)
{
    for (int64_t i = 1; i < got.n; i++) {
        const struct metric_point *a = &got.points[i - 1], *b = &got.points[i];

        if (a->step > b->step || (a->step == b->step && a->rank >= b->rank))
            fail_msg("step %lld of rank %lld comes before step %lld of rank %lld", (long long)a->step,
                     (long long)a->rank, (long long)b->step, (long long)b->rank);
    }
}

static void piece(const char *name, int64_t step, int64_t rank, int64_t to, int64_t most)
{
    struct error err;

    got.n = 0;
    got.most = POINTS_MAX;
    assert_int_equal(store_metric_each(store, training, name, step, rank, to, most, keep, NULL, &err), 0);
    assert_true(got.n <= most);
    check_order();
}

static struct metric_figures figures[3];

static int keep_figures(void *arg, const char *name, const struct metric_figures *told)
{
    figures[strcmp(name, "loss") == 0 ? 0 : strcmp(name, "accuracy") == 0 ? 1 : 2] = *told;
    return 0;
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void figures_are(int which, double last, double min, double max)
{
    struct error err;

    memset(figures, 0, sizeof figures);
    assert_int_equal(store_metric_each_series(store, training, keep_figures, NULL, &err), 0);
    if (!same(figures[which].last, last) || !same(figures[which].min, min) || !same(figures[which].max, max))
        fail_msg("last %g, from %g to %g, and not %g, from %g to %g", figures[which].last, figures[which].min,
                 figures[which].max, last, min, max);
}

static void the_figures_of_each_series_are_told(void **state)
{
    for (int64_t i = 0; i <= 22; i++)
        put("loss", i, 0, (double)i + 1);
    put("loss", 22, 0, 99); /* in place of the former */
    put("accuracy", 1, 0, 0.5);
    figures_are(0, 99, 1, 99);
    figures_are(1, 0.5, 0.5, 0.5);
    put("loss", 30, 1, NAN);
    figures_are(0, NAN, 1, 99);
    put("loss", 30, 0, 7); /* of a lower rank */
    figures_are(0, NAN, 1, 99);
    put("loss", 5, 3, -4);
    figures_are(0, NAN, -4, 99);
    put("other", 4, 0, NAN);
    figures_are(2, NAN, NAN, NAN);
    put("other", 3, 0, 2);
    figures_are(2, NAN, 2, 2);
    put("other", 5, 0, -INFINITY);
    figures_are(2, -INFINITY, 2, 2);
    put("other", 3, 0, INFINITY); /* in place of the only finite value */
    figures_are(2, -INFINITY, NAN, NAN);
    put("other", 3, 0, 4);
    figures_are(2, -INFINITY, 4, 4);
}

/* A training that begins anew reports its steps again, with other values: only the latter count. */
static void a_point_that_is_reported_anew_counts_anew(void **state)
{
    for (int64_t i = 0; i < 3000; i++)
        put("loss", i, 0, 10000 - (double)i);
    figures_are(0, 7001, 7001, 10000);
    put("loss", 0, 0, 5);
    figures_are(0, 7001, 5, 9999);
    put("loss", 0, 0, 8000);
    figures_are(0, 7001, 7001, 9999);
    put("loss", 2999, 0, NAN);
    figures_are(0, NAN, 7002, 9999);
    put("loss", 2999, 0, 3);
    figures_are(0, 3, 3, 9999);
    for (int64_t i = 0; i < 3000; i++)
        put("loss", i, 0, NAN);
    figures_are(0, NAN, NAN, NAN);
    put("loss", 1500, 0, 1);
    figures_are(0, NAN, 1, 1);
}

static int keep_name(void *arg, const char *name)
{
    char *names = arg;

    strcat(strcat(names, name), " ");
    return strcmp(name, "d") == 0;
}

static int64_t steps;

static int count_steps(void *arg)
{
    steps++;
    return 0;
}

/* What a page costs, in steps of SQLite's machine. */
static int64_t cost_of(const char *name)
{
    char names[64] = "";
    struct error err;
    int64_t first, last;

    steps = 0;
    sqlite3_progress_handler(store->db, 10, count_steps, NULL);
    assert_int_equal(store_metric_each_name(store, training, name, keep_name, names, &err), 0);
    assert_int_equal(store_metric_bounds(store, training, name, 0, INT64_MAX, &first, &last, &err), 1);
    piece(name, last / 2, 0, last, 500);
    assert_int_equal(got.n, 500);
    sqlite3_progress_handler(store->db, 0, NULL, NULL);
    return steps;
}

static void the_cost_does_not_grow_with_what_there_is(void **state)
{
    struct error err;
    int64_t few, many;

    assert_int_equal(store_exec(store, &err,
                                "WITH RECURSIVE s (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM s WHERE i < 49999) "
                                "INSERT INTO metric (training, name, step, rank, time, value) "
                                "SELECT ?1, 'many', i, 0, 1, i FROM s UNION ALL SELECT ?1, 'few', i, 0, 1, i FROM s WHERE i < 2000",
                                "i", training), 0);
    few = cost_of("few");
    many = cost_of("many");
    if (many > few + few / 10)
        fail_msg("%lld times 10 steps for 50,000 points, %lld for 2,000", (long long)many, (long long)few);
}

#define WITH_ALL(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ALL(the_figures_of_each_series_are_told),
        WITH_ALL(a_point_that_is_reported_anew_counts_anew),
        WITH_ALL(the_cost_does_not_grow_with_what_there_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
