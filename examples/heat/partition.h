/* The N × N grid cut into rectangular blocks, one for each MPI process. */
#ifndef HEAT_PARTITION_H
#define HEAT_PARTITION_H
#include "common/error.h"
#include "examples/heat/solver.h"

#include <mpi.h>
#include <stretto-mpi.h>

/* Its members are for partition.c alone. */
struct partition {
    MPI_Comm comm;          /* Cartesian: [0] from south to north, [1] from west to east; rank 0 is the world's */
    int rank, size, grid;   /* size: 0 where there is no partition */
    int dims[2];            /* processes in each direction */
    int first[2], count[2]; /* this process's rows and columns */
    bool at_side[SIDE_COUNT];
    /* The neighbours in MPI's order for a Cartesian communicator: south, north, west, east. */
    MPI_Datatype edge[4];
    MPI_Aint send_at[4], receive_at[4];
};

/* Divides the grid among the processes of `world`: collective, and fails on all of them alike (code
 * "too_many_processes") where some would be left without a point. MPI's own errors end the program. */
int partition_init(struct partition *p, MPI_Comm world, int grid, struct error *err);
/* Collective. One that is zero, or whose partition_init() failed, is left alone. */
void partition_fini(struct partition *p);

/* Gives this process's block, and the grid point where it starts. */
void partition_block(const struct partition *p, struct solver_block *block, int *first_x, int *first_y);

/* Gives the number of processes from west to east and from south to north, e.g. 2 and 3. */
void partition_shape(const struct partition *p, int *across, int *up);

/* Returns the functions by which a solver reaches the other blocks; they borrow the partition. */
struct solver_links partition_links(struct partition *p);

/* Returns this process's block of the field, in an array with a rim, as the stream needs it. */
struct stretto_block partition_stream_block(const struct partition *p);
#endif
