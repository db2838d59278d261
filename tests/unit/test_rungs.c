/* Rungs: who is among the best of those that have arrived, for 10,000 trials, against lists that are kept sorted. */
#include "daemon/store/ensemble.h"
#include "daemon/store/rung.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIALS 10000
#define RUNGS 5
#define REDUCTION 3

static char dir[64];
static struct store *store;
static int64_t ensemble;
static uint64_t source;

static int open_all(void **state)
{
    struct ensemble_row ens = {.name = "x", .adapter = "local", .stream_key = "0", .count = TRIALS, .width = 1, .created_ms = 1};
    struct error err;

    snprintf(dir, sizeof dir, "/tmp/stretto-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(store_open(&store, dir, &err), 0);
    assert_int_equal(store_ensemble_insert(store, &ens, "{}", &err), 0);
    ensemble = ens.id;
    return 0;
}

static int close_all(void **state)
{
    char rm[128];

    store_close(store);
    snprintf(rm, sizeof rm, "rm -rf '%s'", dir);
    return system(rm);
}

static uint64_t draw(uint64_t below)
{
    source = source * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (source >> 33) % below;
}

/* The result that is expected: all that have arrived at a rung, the best first, each with whether it was promoted. */
struct trial {
    double loss;
    int64_t number, index;
    bool promoted;
};

static struct {
    struct trial list[TRIALS];
    size_t n;
} at[RUNGS + 1];

static void insert(int64_t rung, struct trial trial)
{
    size_t i = at[rung].n++;

    for (; i > 0 && at[rung].list[i - 1].loss > trial.loss; i--) /* equal ones that came earlier stay before it */
        at[rung].list[i] = at[rung].list[i - 1];
    at[rung].list[i] = trial;
}

static struct trial *first_of_the_best(int64_t rung)
{
    for (size_t i = 0; i < at[rung].n / REDUCTION; i++)
        if (!at[rung].list[i].promoted && isfinite(at[rung].list[i].loss))
            return &at[rung].list[i];
    return NULL;
}

/* Trials that wait or run, and the rungs that they are to reach. */
static struct {
    int64_t index, rung;
} waiting[TRIALS];
static size_t n_waiting;

static double loss_of(int64_t index, int64_t rung)
{
    uint64_t h = ((uint64_t)index * 2654435761u + (uint64_t)rung * 97) % 4099;

    return h % 41 == 3 ? NAN : (double)(h % 1500) / 1000 + 1.0 / (double)rung; /* many are equal */
}

static bool is_promotable(int64_t rung, struct arrival_row *best)
{
    struct error err;
    int rc = store_arrival_promotable(store, ensemble, rung, best, &err);

    assert_true(rc >= 0);
    return rc == 1;
}

static void promotions_are_those_of_sorted_lists(void **state)
{
    int64_t promotions = 0;
    struct error err;

    source = 1;
    for (int64_t i = 0; i < TRIALS; i++)
        waiting[n_waiting].index = i, waiting[n_waiting++].rung = 1;
    while (n_waiting > 0) {
        size_t which = draw(n_waiting);
        int64_t rung = waiting[which].rung, index = waiting[which].index;
        double value = loss_of(index, rung);
        struct arrival_row row = {.ensemble = ensemble, .rung = rung, .index = index, .attempt = rung, .step = rung, .value = value,
                                  .loss = isnan(value) ? INFINITY : value}, best;

        waiting[which] = waiting[--n_waiting];
        assert_int_equal(store_arrival_add(store, &row, REDUCTION, &err), 1);
        insert(rung, (struct trial){row.loss, row.number, index, false});
        assert_int_equal(store_arrival_bar(store, ensemble, rung, &best, &err), 1);
        assert_int_equal(best.number, at[rung].list[at[rung].n < REDUCTION ? 0 : at[rung].n / REDUCTION - 1].number);
        for (int64_t k = RUNGS - 1; k > 0; k--) {
            struct trial *right;

            while (is_promotable(k, &best)) {
                right = first_of_the_best(k);
                assert_non_null(right);
                assert_int_equal(right->number, best.number);
                right->promoted = true;
                promotions++;
                assert_int_equal(store_arrival_promote(store, &best, row.number, &err), 0);
                waiting[n_waiting].index = best.index, waiting[n_waiting++].rung = k + 1;
            }
            assert_null(first_of_the_best(k));
        }
    }
    assert_int_equal(store_arrival_add(store, &(struct arrival_row){.ensemble = ensemble, .rung = 1, .index = 5, .loss = 1}, REDUCTION,
                                       &err), 0); /* it was there */
    for (int64_t k = 1; k <= RUNGS; k++) {
        struct rung_row rung;

        assert_int_equal(store_rung_get(store, ensemble, k, &rung, &err), 0);
        assert_int_equal(rung.arrived, (int64_t)at[k].n);
        assert_int_equal(rung.best.number, at[k].list[0].number);
    }
    assert_true(promotions > TRIALS / REDUCTION);
}

static void the_median_is_that_of_a_sorted_list(void **state)
{
    struct arrival_row row = {.ensemble = ensemble, .rung = RUNGS + 2};
    double sorted[200], median;
    int64_t n = 1;
    struct error err;

    assert_int_equal(store_arrival_median(store, ensemble, row.rung, &n, &median, &err), 0);
    for (int64_t i = 0; i < 200; i++) {
        int64_t place = i;

        row.index = i;
        row.loss = draw(10) == 0 ? INFINITY : (double)draw(50);
        row.value = isfinite(row.loss) ? row.loss : NAN;
        for (; place > 0 && sorted[place - 1] > row.loss; place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = row.loss;
        assert_int_equal(store_arrival_add(store, &row, 2, &err), 1);
        assert_int_equal(store_arrival_median(store, ensemble, row.rung, &n, &median, &err), 1);
        assert_int_equal(n, i + 1);
        assert_true(median == (sorted[i / 2] + sorted[(i + 1) / 2]) / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promotions_are_those_of_sorted_lists),
        cmocka_unit_test(the_median_is_that_of_a_sorted_list),
    };

    return cmocka_run_group_tests(tests, open_all, close_all);
}
