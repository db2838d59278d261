/* Diffusion of a hot rectangle, whose rows are divided among the processes. */
#include <stretto-mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NX = 32, NY = 24, STEPS = 40, WIDTH = NX + 2 };

static int rank, size, rows, first; /* this process's rows of the whole */
static double *u, *next;            /* (rows + 2) x WIDTH: with a rim */

static void advance(double d)
{
    const int below = rank > 0 ? rank - 1 : MPI_PROC_NULL, above = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    double *top = u + rows * WIDTH;

    MPI_Sendrecv(u + WIDTH, WIDTH, MPI_DOUBLE, below, 0, top + WIDTH, WIDTH, MPI_DOUBLE, above, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(top, WIDTH, MPI_DOUBLE, above, 1, u, WIDTH, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int j = 1; j <= rows; j++)
        for (int i = 1; i <= NX; i++) {
            const double *c = u + j * WIDTH + i;

            next[j * WIDTH + i] = *c + d * (c[-1] + c[1] + c[-WIDTH] + c[WIDTH] - 4 * *c);
        }
    for (int j = 1; j <= rows; j++)
        memcpy(u + j * WIDTH + 1, next + j * WIDTH + 1, NX * sizeof *u);
}

static int run(struct stretto_mpi *stream, double d)
{
    const struct stretto_block block = {
        .ndim = 2, .whole = {NY, NX}, .start = {first, 0}, .count = {rows, NX}, .local = {rows + 2, WIDTH},
        .offset = {1, 1}};
    /* the mean of the rows is on process 0; the other processes have no part of it */
    const struct stretto_block row = {.ndim = 1, .whole = {NX}, .count = {rank == 0 ? NX : 0}};
    int temperature = stretto_mpi_field(stream, "temperature", STRETTO_FLOAT64, &block);
    int profile = temperature < 0 ? -1 : stretto_mpi_field(stream, "profile", STRETTO_FLOAT64, &row);

    if (profile < 0)
        return -1;
    for (int step = 0; step < STEPS; step++) {
        double sum[NX] = {0}, mean[NX];

        advance(d);
        for (int j = 1; j <= rows; j++)
            for (int i = 0; i < NX; i++)
                sum[i] += u[j * WIDTH + i + 1] / NY;
        MPI_Reduce(sum, mean, NX, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (stretto_mpi_send(stream, temperature, step, u) < 0 || stretto_mpi_send(stream, profile, step, mean) < 0)
            return -1;
    }
    return stretto_mpi_finish(stream);
}

int main(int argc, char **argv)
{
    struct stretto_mpi *stream;
    int rc;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    first = NY * rank / size;
    rows = NY * (rank + 1) / size - first;
    u = calloc((size_t)(rows + 2) * WIDTH, sizeof *u);
    next = calloc((size_t)(rows + 2) * WIDTH, sizeof *next);
    for (int j = 1; j <= rows; j++)
        for (int i = 5; i <= 10; i++)
            u[j * WIDTH + i] = first + j >= 15 && first + j <= 19 ? 100 : 0;

    rc = stretto_mpi_open(&stream, MPI_COMM_WORLD);
    if (rc == 0)
        rc = run(stream, argc > 1 ? atof(argv[1]) : 0.1);
    if (rc < 0 && rank == 0)
        fprintf(stderr, "diffusion_mpi: %s\n", stretto_mpi_error(stream));
    stretto_mpi_abort(stream);
    free(u);
    free(next);
    MPI_Finalize();
    return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
