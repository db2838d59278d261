#include "examples/heat/solver.h"

#include <math.h>
#include <stdlib.h>

struct solver {
    struct solver_problem problem;
    struct solver_block block;
    struct solver_links links;
    double ratio; /* alpha dt / h² */
    long iterations;
    /* All four are blocks with a rim. At the square's sides the rim stays zero: the sides' contribution is in the
     * right-hand side, so that CG works on a symmetric operator. */
    double *u, *residual, *direction, *image;
};

struct solver *solver_create(const struct solver_problem *problem, const struct solver_block *block,
                             const struct solver_links *links)
{
    struct solver *s = calloc(1, sizeof *s);
    size_t points = ((size_t)block->nx + 2) * ((size_t)block->ny + 2);
    double n1 = problem->grid + 1.0;

    if (s == NULL)
        return NULL;
    s->problem = *problem;
    s->block = *block;
    s->links = *links;
    s->ratio = problem->alpha * problem->dt * n1 * n1;
    s->u = calloc(points, sizeof *s->u);
    s->residual = calloc(points, sizeof *s->residual);
    s->direction = calloc(points, sizeof *s->direction);
    s->image = calloc(points, sizeof *s->image);
    if (s->u == NULL || s->residual == NULL || s->direction == NULL || s->image == NULL) {
        solver_destroy(s);
        return NULL;
    }
    return s;
}

void solver_destroy(struct solver *s)
{
    if (s == NULL)
        return;
    free(s->u);
    free(s->residual);
    free(s->direction);
    free(s->image);
    free(s);
}

double *solver_values(struct solver *s)
{
    return s->u;
}

long solver_iterations(const struct solver *s)
{
    return s->iterations;
}

static size_t row_start(const struct solver *s, int j)
{
    return ((size_t)j + 1) * ((size_t)s->block.nx + 2) + 1;
}

/* Computes out = (I + alpha dt L) in; returns this block's part of in · out. */
static double apply(struct solver *s, double *in, double *out)
{
    const size_t stride = (size_t)s->block.nx + 2;
    const double ratio = s->ratio, centre = 1.0 + 4.0 * ratio;
    double dot = 0.0;

    s->links.exchange(s->links.ctx, in);
    for (int j = 0; j < s->block.ny; j++) {
        const double *c = in + row_start(s, j);
        const double *below = c - stride, *above = c + stride;
        double *o = out + row_start(s, j);

        for (int i = 0; i < s->block.nx; i++) {
            o[i] = centre * c[i] - ratio * (c[i - 1] + c[i + 1] + below[i] + above[i]);
            dot += c[i] * o[i];
        }
    }
    return dot;
}

/* Returns the contribution of the sides' temperature to the right-hand side at (i, j). */
static double from_sides(const struct solver *s, int i, int j)
{
    const struct solver_block *b = &s->block;
    const double *t = s->problem.sides;
    double sum = 0.0;

    if (b->at_side[SIDE_WEST] && i == 0)
        sum += t[SIDE_WEST];
    if (b->at_side[SIDE_EAST] && i == b->nx - 1)
        sum += t[SIDE_EAST];
    if (b->at_side[SIDE_SOUTH] && j == 0)
        sum += t[SIDE_SOUTH];
    if (b->at_side[SIDE_NORTH] && j == b->ny - 1)
        sum += t[SIDE_NORTH];
    return s->ratio * sum;
}

/* Sets residual = direction = right-hand side - operator(u), with the old field as the first guess; gives the squared
 * norms of the residual and of the right-hand side, over all blocks. */
static void start(struct solver *s, double *rr, double *bb)
{
    double local_rr = 0.0, local_bb = 0.0;

    apply(s, s->u, s->image);
    for (int j = 0; j < s->block.ny; j++) {
        size_t at = row_start(s, j);

        for (int i = 0; i < s->block.nx; i++, at++) {
            double b = s->u[at] + from_sides(s, i, j), r = b - s->image[at];

            s->residual[at] = r;
            s->direction[at] = r;
            local_rr += r * r;
            local_bb += b * b;
        }
    }
    *rr = s->links.sum(s->links.ctx, local_rr);
    *bb = s->links.sum(s->links.ctx, local_bb);
}

/* Sets u += a direction, residual -= a image; returns the squared norm of the new residual, over all blocks. */
static double advance(struct solver *s, double a)
{
    double local = 0.0;

    for (int j = 0; j < s->block.ny; j++) {
        const size_t at = row_start(s, j);
        double *u = s->u + at, *r = s->residual + at;
        const double *d = s->direction + at, *image = s->image + at;

        for (int i = 0; i < s->block.nx; i++) {
            u[i] += a * d[i];
            r[i] -= a * image[i];
            local += r[i] * r[i];
        }
    }
    return s->links.sum(s->links.ctx, local);
}

/* Sets direction = residual + b direction. */
static void turn(struct solver *s, double b)
{
    for (int j = 0; j < s->block.ny; j++) {
        const size_t at = row_start(s, j);
        double *d = s->direction + at;
        const double *r = s->residual + at;

        for (int i = 0; i < s->block.nx; i++)
            d[i] = r[i] + b * d[i];
    }
}

/* Compares the norms. Values whose squares are no finite numbers have no residual that could be small. */
static bool has_converged(double tolerance, double rr, double bb)
{
    return isfinite(bb) && rr <= tolerance * tolerance * bb;
}

int solver_step(struct solver *s, struct error *err)
{
    const double tolerance = s->problem.tolerance;
    double rr, bb;
    int n;

    start(s, &rr, &bb);
    for (n = 0; isfinite(rr) && !has_converged(tolerance, rr, bb) && n < s->problem.max_iterations; n++) {
        double curvature = s->links.sum(s->links.ctx, apply(s, s->direction, s->image));
        double next = advance(s, rr / curvature);

        turn(s, next / rr);
        rr = next;
    }
    s->iterations += n;
    if (!has_converged(tolerance, rr, bb))
        return error_set(err, "no_convergence",
                         "conjugate gradient did not converge: relative residual %.1e after %d iterations, wanted %.1e",
                         sqrt(rr / bb), n, tolerance);
    return 0;
}
