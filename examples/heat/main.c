/* heat2d: the member program of the example ensemble. Rank 0 gathers the field of every time step and sends it. */
#include "config.h"

#include "examples/heat/analytic.h"
#include "examples/heat/options.h"
#include "examples/heat/output_npy.h"
#include "examples/heat/partition.h"
#include "tasks/member/stretto.h"

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

/* Every process holds its block; only rank 0 has the whole field and what is done with it. */
struct run {
    struct options options;
    struct partition *partition;
    struct solver *solver;
    struct solver_block block;
    int first_x, first_y;
    int rank, size;
    double *field;
    struct stretto *stream;
    int stream_field;
    struct output_npy *output;
};

/* For what goes wrong on any one process while the others are waiting for it. */
static _Noreturn void die(const char *what)
{
    fprintf(stderr, "heat2d: %s\n", what);
    fflush(NULL);
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    abort();
}

/* A launcher of another MPI starts N worlds of one process, each of which would compute and send the whole field. */
static int check_world(int size, struct error *err)
{
    const char *text = getenv("STRETTO_NTASKS");
    char *end;
    long wanted;

    if (text == NULL)
        return 0;
    wanted = strtol(text, &end, 10);
    if (end == text || *end != '\0' || wanted == size)
        return 0;
    return error_set(err, "world_size",
                     "started as %ld processes (STRETTO_NTASKS), but the MPI world has %d: the launcher is missing, or "
                     "it is that of another MPI than heat2d was built with",
                     wanted, size);
}

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

/* What rank 0 has met with is known to all, so that they end together and its reason is the last word on stderr. */
static int agree(int rc)
{
    MPI_Bcast(&rc, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return rc;
}

static int stream_failed(const struct run *r, struct error *err)
{
    return error_set(err, "stream", "%s", stretto_error(r->stream));
}

static int open_outputs(struct run *r, struct error *err)
{
    const struct options *o = &r->options;
    const int64_t shape[2] = {o->problem.grid, o->problem.grid};

    if (r->rank != 0)
        return 0;
    r->field = calloc((size_t)shape[0] * (size_t)shape[1], sizeof *r->field);
    if (r->field == NULL)
        return error_set(err, "memory", "no memory for the field");
    if (o->output != NULL && output_npy_open(&r->output, o->output, o->steps, o->problem.grid, err) < 0)
        return -1;
    if (stretto_open(&r->stream) < 0)
        return stream_failed(r, err);
    r->stream_field = stretto_field(r->stream, "temperature", STRETTO_FLOAT64, 2, shape);
    return r->stream_field < 0 ? stream_failed(r, err) : 0;
}

static int write_step(struct run *r, int step, struct error *err)
{
    if (r->rank != 0)
        return 0;
    if (r->output != NULL && output_npy_write(r->output, r->field, err) < 0)
        return -1;
    if (stretto_send(r->stream, r->stream_field, step, r->field) < 0)
        return stream_failed(r, err);
    return 0;
}

/* Only a run whose every step has been acknowledged is a success. */
static int close_outputs(struct run *r, struct error *err)
{
    struct stretto *stream = r->stream;
    struct output_npy *output = r->output;

    r->output = NULL;
    if (output != NULL && output_npy_close(output, err) < 0)
        return -1;
    r->stream = NULL;
    if (stream != NULL && stretto_close(stream) < 0)
        return error_set(err, "stream", "the training has not acknowledged every time step");
    return 0;
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
                                                        amplitude, r->options.steps, i, j)));
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
    if (partition_create(&r->partition, MPI_COMM_WORLD, o->problem.grid, err) < 0)
        return -1;
    partition_block(r->partition, &r->block, &r->first_x, &r->first_y);
    links = partition_links(r->partition);
    r->solver = solver_create(&o->problem, &r->block, &links);
    if (r->solver == NULL)
        die("no memory for the grid");
    set_initial(r);
    if (agree(open_outputs(r, err)) < 0)
        return -1;
    for (int step = 1; step <= o->steps; step++) {
        if (solver_step(r->solver, err) < 0)
            return -1;
        partition_gather(r->partition, solver_values(r->solver), r->field);
        if (agree(write_step(r, step, err)) < 0)
            return -1;
    }
    if (agree(close_outputs(r, err)) < 0)
        return -1;
    if (r->rank == 0) {
        partition_shape(r->partition, &across, &up);
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
    if (r->stream != NULL)
        stretto_abort(r->stream);
    solver_destroy(r->solver);
    partition_destroy(r->partition);
    free(r->field);
}

int main(int argc, char **argv)
{
    struct run r = {.rank = 0};
    struct error err = {.code = ""};
    int status = EXIT_SUCCESS, wrong = options_parse(&r.options, argc, argv, &err);

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r.size);
    if (wrong != 0)
        status = EXIT_USAGE;
    else if (r.options.help && r.rank == 0)
        options_help();
    else if (r.options.version && r.rank == 0)
        puts("heat2d (" PACKAGE_STRING ")");
    else if (!r.options.help && !r.options.version && (check_world(r.size, &err) < 0 || compute(&r, &err) < 0))
        status = EXIT_FAILURE;
    if (status != EXIT_SUCCESS && r.rank == 0)
        fprintf(stderr, "heat2d: %s\n", err.text);
    release(&r);
    MPI_Finalize();
    return status;
}
