/* heat2d: the member program of the example ensemble. It sends the field of every time step from the memory where it is
 * computed. */
#include "config.h"

#include "examples/heat/analytic.h"
#include "examples/heat/options.h"
#include "examples/heat/output_npy.h"
#include "examples/heat/partition.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <stretto-mpi.h>

enum { EXIT_USAGE = 2 };

/* Every process holds its block; only rank 0 has the whole field, if it is written or compared. */
struct run {
    struct options options;
    struct partition partition;
    struct solver *solver;
    struct solver_block block;
    int first_x, first_y;
    int rank;
    double *field;
    struct stretto_mpi *stream;
    int temperature;
    struct output_npy *output;
};

static void set_initial(struct run *r)
{
    const struct options *o = &r->options;
    double *values = solver_values(r->solver);

    for (int j = 0; j < r->block.ny; j++)
        for (int i = 0; i < r->block.nx; i++)
            values[(size_t)(j + 1) * (size_t)(r->block.nx + 2) + (size_t)i + 1] =
                o->analytic ? analytic_value(ANALYTIC_CONTINUOUS, o->problem.grid, o->problem.alpha, o->problem.dt,
                                             o->problem.sides[SIDE_WEST], o->initial, 0, r->first_x + i, r->first_y + j)
                            : o->initial;
}

/* Gives rank 0's result to all processes, so that they end together and its reason is the last line on stderr. */
static int agree(int rc)
{
    MPI_Bcast(&rc, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return rc;
}

/* Returns, in all processes, whether all of them have what they need. One that ended alone, by MPI_Abort(), might lose
 * its last words in the launcher. */
static bool all_have(bool has)
{
    int mine = has, all;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all != 0;
}

static int stream_failed(const struct run *r, struct error *err)
{
    return error_set(err, "stream", "%s", stretto_mpi_error(r->stream));
}

static int open_stream(struct run *r, struct error *err)
{
    const struct stretto_block block = partition_stream_block(&r->partition);

    if (stretto_mpi_open(&r->stream, MPI_COMM_WORLD) < 0)
        return stream_failed(r, err);
    r->temperature = stretto_mpi_field(r->stream, "temperature", STRETTO_FLOAT64, &block);
    return r->temperature < 0 ? stream_failed(r, err) : 0;
}

static bool field_is_wanted(const struct run *r)
{
    return r->options.output != NULL || r->options.analytic;
}

static int open_output(struct run *r, struct error *err)
{
    const struct options *o = &r->options;

    if (r->rank != 0 || !field_is_wanted(r))
        return 0;
    r->field = calloc((size_t)o->problem.grid * (size_t)o->problem.grid, sizeof *r->field);
    if (r->field == NULL)
        return error_set(err, "memory", "no memory for the field");
    return o->output != NULL ? output_npy_open(&r->output, o->output, o->steps, o->problem.grid, err) : 0;
}

static int write_step(struct run *r, int step, struct error *err)
{
    const double *values = solver_values(r->solver);

    if (field_is_wanted(r)) {
        stretto_mpi_gather(r->stream, r->temperature, values, r->field);
        if (agree(r->output != NULL ? output_npy_write(r->output, r->field, err) : 0) < 0)
            return -1;
    }
    return stretto_mpi_send(r->stream, r->temperature, step, values) < 0 ? stream_failed(r, err) : 0;
}

static int close_output(struct run *r, struct error *err)
{
    struct output_npy *output = r->output;

    r->output = NULL;
    return output != NULL ? output_npy_close(output, err) : 0;
}

static void print_errors(const struct run *r)
{
    const struct solver_problem *q = &r->options.problem;
    const double side = q->sides[SIDE_WEST], amplitude = r->options.initial;

    for (int kind = 0; kind < ANALYTIC_KINDS; kind++) {
        double worst = 0.0;

        for (int j = 0; j < q->grid; j++)
            for (int i = 0; i < q->grid; i++)
                worst = fmax(worst, fabs(r->field[(size_t)j * (size_t)q->grid + (size_t)i] -
                                         analytic_value((enum analytic_kind)kind, q->grid, q->alpha, q->dt, side,
                                                        amplitude, r->options.steps * r->options.substeps, i, j)));
        printf("%s %.6e\n", analytic_names[kind], worst);
    }
}

static int compute(struct run *r, struct error *err)
{
    struct options *o = &r->options;
    double began = MPI_Wtime();
    struct solver_links links;
    int across, up;

    if (o->analytic)
        for (int side = 0; side < SIDE_COUNT; side++)
            o->problem.sides[side] = o->problem.sides[SIDE_WEST];
    if (partition_init(&r->partition, MPI_COMM_WORLD, o->problem.grid, err) < 0)
        return -1;
    partition_block(&r->partition, &r->block, &r->first_x, &r->first_y);
    links = partition_links(&r->partition);
    r->solver = solver_create(&o->problem, &r->block, &links);
    if (!all_have(r->solver != NULL))
        return error_set(err, "memory", "no memory for the grid");
    set_initial(r);
    if (open_stream(r, err) < 0 || agree(open_output(r, err)) < 0)
        return -1;
    for (int step = 1; step <= o->steps; step++) {
        for (int part = 0; part < o->substeps; part++)
            if (solver_step(r->solver, err) < 0)
                return -1;
        if (write_step(r, step, err) < 0)
            return -1;
    }
    if (agree(close_output(r, err)) < 0)
        return -1;
    /* only a run of which every step has been acknowledged is a success */
    if (stretto_mpi_finish(r->stream) < 0)
        return stream_failed(r, err);
    if (r->rank == 0) {
        partition_shape(&r->partition, &across, &up);
        printf("heat2d: %d steps of %d x %d on %d x %d processes, %.1f iterations a step, %.3f s\n", o->steps,
               o->problem.grid, o->problem.grid, across, up, (double)solver_iterations(r->solver) / o->steps,
               MPI_Wtime() - began);
        if (o->analytic)
            print_errors(r);
    }
    return 0;
}

static void release(struct run *r)
{
    struct error ignored;

    if (r->output != NULL)
        output_npy_close(r->output, &ignored);
    stretto_mpi_abort(r->stream);
    solver_destroy(r->solver);
    partition_fini(&r->partition);
    free(r->field);
}

int main(int argc, char **argv)
{
    struct run r = {.rank = 0};
    struct error err = {.code = ""};
    int status = EXIT_SUCCESS, wrong = options_parse(&r.options, argc, argv, &err);

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    if (wrong != 0)
        status = EXIT_USAGE;
    else if (r.options.help && r.rank == 0)
        options_help();
    else if (r.options.version && r.rank == 0)
        puts("heat2d (" PACKAGE_STRING ")");
    else if (!r.options.help && !r.options.version && compute(&r, &err) < 0)
        status = EXIT_FAILURE;
    if (status != EXIT_SUCCESS && r.rank == 0)
        fprintf(stderr, "heat2d: %s\n", err.text);
    release(&r);
    MPI_Finalize();
    return status;
}
