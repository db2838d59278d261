/* The solver alone, on one block, against solutions that are known. */
#include "examples/heat/solver.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

static void no_exchange(void *ctx, double *values)
{
}

static double own_sum(void *ctx, double value)
{
    return value;
}

static const struct solver_links alone = {.exchange = no_exchange, .sum = own_sum};

static struct solver_problem problem(int grid)
{
    return (struct solver_problem){
        .grid = grid, .alpha = 1.0, .dt = 0.001, .tolerance = 1e-12, .max_iterations = 10000};
}

static struct solver *whole(const struct solver_problem *p)
{
    const struct solver_block block = {.nx = p->grid, .ny = p->grid, .at_side = {true, true, true, true}};
    struct solver *s = solver_create(p, &block, &alone);

    assert_non_null(s);
    return s;
}

static double *point(struct solver *s, int grid, int i, int j)
{
    return &solver_values(s)[(size_t)(j + 1) * (size_t)(grid + 2) + (size_t)i + 1];
}

static void fill(struct solver *s, int grid, double value)
{
    for (int j = 0; j < grid; j++)
        for (int i = 0; i < grid; i++)
            *point(s, grid, i, j) = value;
}

static void steps(struct solver *s, int count)
{
    struct error err;

    for (int n = 0; n < count; n++)
        assert_int_equal(solver_step(s, &err), 0);
}

/* One point: (1 + 4r) u' = u + r (west + east + south + north), by hand. */
static void one_point_by_hand(void **state)
{
    struct solver_problem p = problem(1);
    struct solver *s;
    double r = p.dt * 4.0;

    memcpy(p.sides, (double[SIDE_COUNT]){100.0, 230.0, 310.0, 480.0}, sizeof p.sides);
    s = whole(&p);
    *point(s, 1, 0, 0) = 150.0;
    steps(s, 1);
    assert_float_equal(*point(s, 1, 0, 0), (150.0 + r * 1120.0) / (1.0 + 4.0 * r), 1e-9);
    solver_destroy(s);
}

/* In the steady state the centre has the mean temperature of the four sides, and nothing is beyond them. */
static void steady_state(void **state)
{
    enum { N = 17 };
    struct solver_problem p = problem(N);
    struct solver *s;

    p.dt = 1.0;
    memcpy(p.sides, (double[SIDE_COUNT]){100.0, 230.0, 310.0, 480.0}, sizeof p.sides);
    s = whole(&p);
    fill(s, N, 1000.0);
    steps(s, 30);
    assert_float_equal(*point(s, N, N / 2, N / 2), 280.0, 1e-5);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            assert_true(*point(s, N, i, j) > 100.0 && *point(s, N, i, j) < 480.0);
    solver_destroy(s);
}

/* The field that the sides are in balance with stays as it is, without an iteration. */
static void balance_is_kept(void **state)
{
    struct solver_problem p = problem(12);
    struct solver *s;

    for (int side = 0; side < SIDE_COUNT; side++)
        p.sides[side] = 321.0;
    s = whole(&p);
    fill(s, 12, 321.0);
    steps(s, 3);
    assert_float_equal(*point(s, 12, 5, 7), 321.0, 1e-9);
    assert_int_equal(solver_iterations(s), 0);
    solver_destroy(s);
}

/* Conjugate gradient's own bound: sqrt(condition) / 2 × log(2 / tolerance), the condition being at most 1 + 8r; what
 * descends less cleverly needs a multiple of it. */
static void as_few_iterations_as_the_theory_says(void **state)
{
    struct solver_problem p = problem(40);
    struct solver *s;

    p.dt = 0.01;
    p.sides[SIDE_WEST] = 500.0;
    s = whole(&p);
    steps(s, 1);
    assert_true(solver_iterations(s) <= sqrt(1.0 + 8.0 * p.dt * 41 * 41) / 2.0 * log(2.0 / p.tolerance) + 1);
    solver_destroy(s);
}

/* The unit of the temperature does not matter: a thousand-millionth of all sides gives a thousand-millionth of the
 * field, and no more work. */
static void a_field_of_small_values_is_as_good(void **state)
{
    enum { N = 17 };
    static const double unit[] = {1.0, 1e-9, 1e9};
    double field[3][N * N];
    int iterations[3];

    for (int k = 0; k < 3; k++) {
        struct solver_problem p = problem(N);
        struct solver *s;

        for (int side = 0; side < SIDE_COUNT; side++)
            p.sides[side] = (100.0 + 90.0 * side) * unit[k];
        s = whole(&p);
        fill(s, N, 250.0 * unit[k]);
        steps(s, 5);
        for (int i = 0; i < N * N; i++)
            field[k][i] = *point(s, N, i % N, i / N) / unit[k];
        iterations[k] = solver_iterations(s);
        solver_destroy(s);
    }
    for (int k = 1; k < 3; k++) {
        for (int i = 0; i < N * N; i++)
            assert_float_equal(field[k][i], field[0][i], 1e-6);
        /* what rounding makes of it */
        assert_true(iterations[k] >= iterations[0] - 2 && iterations[k] <= iterations[0] + 2);
    }
}

static void no_convergence_is_told(void **state)
{
    struct solver_problem p = problem(40);
    struct solver *s;
    struct error err;

    p.max_iterations = 3;
    p.sides[SIDE_WEST] = 500.0;
    s = whole(&p);
    assert_int_equal(solver_step(s, &err), -1);
    assert_string_equal(err.code, "no_convergence");
    assert_non_null(strstr(err.text, "after 3 iterations"));
    solver_destroy(s);
    p.sides[SIDE_WEST] = NAN;
    s = whole(&p);
    assert_int_equal(solver_step(s, &err), -1);
    solver_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_point_by_hand),
        cmocka_unit_test(steady_state),
        cmocka_unit_test(balance_is_kept),
        cmocka_unit_test(as_few_iterations_as_the_theory_says),
        cmocka_unit_test(a_field_of_small_values_is_as_good),
        cmocka_unit_test(no_convergence_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
