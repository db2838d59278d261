/* Implicit Euler for du/dt = alpha (u_xx + u_yy) on the unit square, on one rectangular block of its grid.
 *
 * The grid has N × N interior points at distance h = 1/(N+1); the sides are held at fixed temperatures. Each step
 * solves (I + alpha dt L) u' = u + sides by the conjugate gradient method, where L is the 5-point Laplacian, which is
 * never stored. The solver does not know how blocks communicate: the two operations that involve other blocks are
 * passed in.
 *
 * A block of nx × ny points is stored with a rim one point wide, row by row from south to north, in a row from west to
 * east: point (i, j), 0 <= i < nx, 0 <= j < ny, is values[(j + 1) * (nx + 2) + i + 1]. */
#ifndef HEAT_SOLVER_H
#define HEAT_SOLVER_H
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>

enum side { SIDE_WEST, SIDE_EAST, SIDE_SOUTH, SIDE_NORTH, SIDE_COUNT };

struct solver_problem {
    int grid; /* N */
    double alpha, dt;
    double sides[SIDE_COUNT]; /* temperatures, by enum side */
    double tolerance;         /* CG stops when |residual| <= tolerance * |right-hand side|, in the 2-norm */
    int max_iterations;       /* of CG in one step */
};

struct solver_block {
    int nx, ny;
    bool at_side[SIDE_COUNT]; /* the sides of the block that lie on the square's */
};

struct solver_links {
    /* Fills the rim of a block where another block is the neighbour; leaves it unchanged at the square's sides. */
    void (*exchange)(void *ctx, double *values);
    /* Returns the sum of `value` over all blocks, the same number to the last bit on each. */
    double (*sum)(void *ctx, double value);
    void *ctx; /* borrowed */
};

struct solver;

/* NULL where there is no memory. The problem, block and links are copied. */
struct solver *solver_create(const struct solver_problem *problem, const struct solver_block *block,
                             const struct solver_links *links);
void solver_destroy(struct solver *s);

/* Returns the temperatures, with the rim, to be set before the first step and read after each; only the solver uses the
 * rim. */
double *solver_values(struct solver *s);

/* Makes one time step. Fails (code "no_convergence"), on every block alike, where CG does not reach its tolerance. */
int solver_step(struct solver *s, struct error *err);

/* Returns the number of CG iterations of all steps so far. */
long solver_iterations(const struct solver *s);
#endif
