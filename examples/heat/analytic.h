/* A case whose solution is known: all sides have one temperature, and three sine modes of the square are added to it.
 *
 * The modes are eigenvectors of the discrete Laplacian too, so the scheme's own solution is known exactly, and the
 * computed field can be compared with four solutions that differ only in how each mode decays. */
#ifndef HEAT_ANALYTIC_H
#define HEAT_ANALYTIC_H

enum analytic_kind {
    ANALYTIC_DISCRETE,   /* discrete in space and time: only CG's tolerance is left */
    ANALYTIC_SPACE,      /* discrete in time, exact in space: the error of the grid, O(h²) */
    ANALYTIC_TIME,       /* discrete in space, exact in time: the error of the time step, O(dt) */
    ANALYTIC_CONTINUOUS, /* exact in both */
    ANALYTIC_KINDS,
};

/* heat2d's names of the errors against each kind, e.g. "error_discrete". */
extern const char *const analytic_names[ANALYTIC_KINDS];

/* Returns the solution at grid point (i, j), from 0, of an N × N grid after `step` time steps (0: the initial field),
 * with the sides at `side` and an amplitude of `amplitude`. */
double analytic_value(enum analytic_kind kind, int grid, double alpha, double dt, double side, double amplitude,
                      int step, int i, int j);
#endif
