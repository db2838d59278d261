/* The N × N grid cut into rectangular blocks, one for each MPI process. */
#ifndef HEAT_PARTITION_H
#define HEAT_PARTITION_H
#include "common/error.h"
#include "examples/heat/solver.h"

#include <mpi.h>
#include <stretto-mpi.h>

struct partition;

/* Divides the grid among the processes of `world`: collective, and fails on all of them alike (code
 * "too_many_processes") where some would be left without a point. Every other failure ends the program, as MPI's own
 * errors do. */
int partition_create(struct partition **out, MPI_Comm world, int grid, struct error *err);
void partition_destroy(struct partition *p);

/* Gives this process's block, and the grid point where it starts. */
void partition_block(const struct partition *p, struct solver_block *block, int *first_x, int *first_y);

/* Gives the number of processes from west to east and from south to north, e.g. 2 and 3. */
void partition_shape(const struct partition *p, int *across, int *up);

/* Returns the functions by which a solver reaches the other blocks; they borrow the partition. */
struct solver_links partition_links(struct partition *p);

/* Returns this process's block of the field, in an array with a rim, as the stream needs it. */
struct stretto_block partition_stream_block(const struct partition *p);
#endif
