#include "examples/heat/partition.h"

/* Divides the n points of one direction into `parts`: the first ones get one point more where n does not divide
 * evenly. */
static void share(int n, int parts, int index, int *first, int *count)
{
    int base = n / parts, more = n % parts;

    *count = base + (index < more);
    *first = index * base + (index < more ? index : more);
}

/* Finds the most square dims with dims[0] * dims[1] = size that fit the grid; false where there are none. */
static bool choose_dims(int size, int grid, int dims[2])
{
    bool found = false;

    for (int a = 1; a <= size / a; a++) {
        if (size % a != 0 || size / a > grid)
            continue;
        dims[0] = size / a;
        dims[1] = a;
        found = true;
    }
    return found;
}

static void make_edges(struct partition *p)
{
    const int ny = p->count[0], nx = p->count[1];
    const MPI_Aint stride = nx + 2;
    const MPI_Aint inner[4] = {stride + 1, ny * stride + 1, stride + 1, stride + nx};
    const MPI_Aint rim[4] = {1, (ny + 1) * stride + 1, stride, stride + nx + 1};

    for (int n = 0; n < 4; n++) {
        if (n < 2)
            MPI_Type_contiguous(nx, MPI_DOUBLE, &p->edge[n]);
        else
            MPI_Type_vector(ny, 1, (int)stride, MPI_DOUBLE, &p->edge[n]);
        MPI_Type_commit(&p->edge[n]);
        p->send_at[n] = inner[n] * (MPI_Aint)sizeof(double);
        p->receive_at[n] = rim[n] * (MPI_Aint)sizeof(double);
    }
}

int partition_init(struct partition *p, MPI_Comm world, int grid, struct error *err)
{
    const int periods[2] = {0, 0};
    int at[2], dims[2], size;

    *p = (struct partition){.size = 0};
    MPI_Comm_size(world, &size);
    if (!choose_dims(size, grid, dims))
        return error_set(err, "too_many_processes",
                         "%d processes cannot share a grid of %d x %d: some would have no point", size, grid, grid);
    p->grid = grid;
    p->size = size;
    p->dims[0] = dims[0];
    p->dims[1] = dims[1];
    MPI_Cart_create(world, 2, dims, periods, 0, &p->comm);
    MPI_Comm_rank(p->comm, &p->rank);
    MPI_Cart_coords(p->comm, p->rank, 2, at);
    for (int d = 0; d < 2; d++)
        share(grid, dims[d], at[d], &p->first[d], &p->count[d]);
    p->at_side[SIDE_SOUTH] = at[0] == 0;
    p->at_side[SIDE_NORTH] = at[0] == dims[0] - 1;
    p->at_side[SIDE_WEST] = at[1] == 0;
    p->at_side[SIDE_EAST] = at[1] == dims[1] - 1;
    make_edges(p);
    return 0;
}

void partition_fini(struct partition *p)
{
    if (p->size == 0)
        return;
    for (int n = 0; n < 4; n++)
        MPI_Type_free(&p->edge[n]);
    MPI_Comm_free(&p->comm);
    p->size = 0;
}

void partition_block(const struct partition *p, struct solver_block *block, int *first_x, int *first_y)
{
    block->ny = p->count[0];
    block->nx = p->count[1];
    for (int side = 0; side < SIDE_COUNT; side++)
        block->at_side[side] = p->at_side[side];
    *first_y = p->first[0];
    *first_x = p->first[1];
}

void partition_shape(const struct partition *p, int *across, int *up)
{
    *up = p->dims[0];
    *across = p->dims[1];
}

static void exchange(void *ctx, double *values)
{
    static const int one[4] = {1, 1, 1, 1};
    struct partition *p = ctx;

    if (p->size > 1)
        MPI_Neighbor_alltoallw(values, one, p->send_at, p->edge, values, one, p->receive_at, p->edge, p->comm);
}

static double sum(void *ctx, double value)
{
    struct partition *p = ctx;

    if (p->size > 1)
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, p->comm);
    return value;
}

struct solver_links partition_links(struct partition *p)
{
    return (struct solver_links){.exchange = exchange, .sum = sum, .ctx = p};
}

struct stretto_block partition_stream_block(const struct partition *p)
{
    struct stretto_block block = {.ndim = 2};

    for (int d = 0; d < 2; d++) {
        block.whole[d] = p->grid;
        block.start[d] = p->first[d];
        block.count[d] = p->count[d];
        block.local[d] = p->count[d] + 2;
        block.offset[d] = 1;
    }
    return block;
}
