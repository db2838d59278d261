/* The N × N grid cut into rectangular blocks, one for each MPI process. */
#ifndef HEAT_PARTITION_H
#define HEAT_PARTITION_H
#include "common/error.h"
#include "examples/heat/solver.h"

#include <mpi.h>
#include <stretto-mpi.h>

struct partition;

/* Cut the grid for the processes of `world`: collective, and fails on all of them alike (code "too_many_processes")
 * where some would be left without a point. Every other failure ends the program, as MPI's own errors do. */
int partition_create(struct partition **out, MPI_Comm world, int grid, struct error *err);
void partition_destroy(struct partition *p);

/* This process's block, and the grid point where it starts. */
void partition_block(const struct partition *p, struct solver_block *block, int *first_x, int *first_y);

/* "2 x 3": processes from west to east, and from south to north. */
void partition_shape(const struct partition *p, int *across, int *up);

/* What a solver needs of the other blocks; borrows the partition. */
struct solver_links partition_links(struct partition *p);

/* The same as the stream's gather wants it: this process's block of the field, in an array with a rim. */
struct stretto_block partition_stream_block(const struct partition *p);
#endif
