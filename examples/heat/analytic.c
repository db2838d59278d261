#include "examples/heat/analytic.h"

#include <math.h>
#include <stdbool.h>

const char *const analytic_names[ANALYTIC_KINDS] = {
    [ANALYTIC_DISCRETE] = "error_discrete",
    [ANALYTIC_SPACE] = "error_space",
    [ANALYTIC_TIME] = "error_time",
    [ANALYTIC_CONTINUOUS] = "error_continuous",
};

/* The numbers of waves in x and in y differ, to detect a solver that mixes up the two directions. */
static const struct {
    int p, q;
    double weight;
} modes[] = {{1, 1, 1.0}, {2, 1, 0.5}, {1, 3, 0.25}};

/* Returns minus the eigenvalue of d²/dx² for `waves` half-waves on the unit interval. */
static double eigenvalue(int waves, int grid, bool discrete)
{
    double n1 = grid + 1.0, s;

    if (!discrete)
        return M_PI * M_PI * waves * waves;
    s = 2.0 * n1 * sin(M_PI * waves / (2.0 * n1));
    return s * s;
}

double analytic_value(enum analytic_kind kind, int grid, double alpha, double dt, double side, double amplitude,
                      int step, int i, int j)
{
    const bool space = kind == ANALYTIC_DISCRETE || kind == ANALYTIC_TIME;
    const bool time = kind == ANALYTIC_DISCRETE || kind == ANALYTIC_SPACE;
    const double x = (i + 1) / (grid + 1.0), y = (j + 1) / (grid + 1.0);
    double sum = 0.0;

    for (unsigned m = 0; m < sizeof modes / sizeof *modes; m++) {
        double rate = alpha * (eigenvalue(modes[m].p, grid, space) + eigenvalue(modes[m].q, grid, space));
        double decay = time ? pow(1.0 + rate * dt, -step) : exp(-rate * dt * step);

        sum += modes[m].weight * decay * sin(M_PI * modes[m].p * x) * sin(M_PI * modes[m].q * y);
    }
    return side + amplitude * sum;
}
