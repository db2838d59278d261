/* The functions of stretto-mpi.h that the Fortran module stretto_mpi calls; compiled with it, by the MPI's C
 * compiler. */
#include <stretto-mpi.h>

int stretto_mpi_f_open(struct stretto_mpi **out, int comm);
int stretto_mpi_f_active(const struct stretto_mpi *m);
int stretto_mpi_f_field(struct stretto_mpi *m, const char *name, int dtype, int ndim, const int *whole,
                        const int *start, const int *count, const int *local, const int *offset);
int stretto_mpi_f_send(struct stretto_mpi *m, int field, int64_t step, const void *local);
int stretto_mpi_f_send_extent(struct stretto_mpi *m, int field, int64_t step, int count, const void *local);
double stretto_mpi_f_time_left(struct stretto_mpi *m);
int stretto_mpi_f_finish(struct stretto_mpi *m);
void stretto_mpi_f_abort(struct stretto_mpi *m);
const char *stretto_mpi_f_error(const struct stretto_mpi *m);

int stretto_mpi_f_open(struct stretto_mpi **out, int comm)
{
    return stretto_mpi_open(out, MPI_Comm_f2c((MPI_Fint)comm));
}

int stretto_mpi_f_active(const struct stretto_mpi *m)
{
    return stretto_mpi_active(m);
}

int stretto_mpi_f_field(struct stretto_mpi *m, const char *name, int dtype, int ndim, const int *whole,
                        const int *start, const int *count, const int *local, const int *offset)
{
    struct stretto_block block;

    memset(&block, 0, sizeof block);
    block.ndim = ndim;
    for (int d = 0; d < ndim && d < STRETTO_NDIM_MAX; d++) {
        block.whole[d] = whole[d];
        block.start[d] = start[d];
        block.count[d] = count[d];
        block.local[d] = local[d];
        block.offset[d] = offset[d];
    }
    return stretto_mpi_field(m, name, (enum stretto_dtype)dtype, &block);
}

int stretto_mpi_f_send(struct stretto_mpi *m, int field, int64_t step, const void *local)
{
    return stretto_mpi_send(m, field, step, local);
}

int stretto_mpi_f_send_extent(struct stretto_mpi *m, int field, int64_t step, int count, const void *local)
{
    return stretto_mpi_send_extent(m, field, step, count, local);
}

double stretto_mpi_f_time_left(struct stretto_mpi *m)
{
    return stretto_mpi_time_left(m);
}

int stretto_mpi_f_finish(struct stretto_mpi *m)
{
    return stretto_mpi_finish(m);
}

void stretto_mpi_f_abort(struct stretto_mpi *m)
{
    stretto_mpi_abort(m);
}

const char *stretto_mpi_f_error(const struct stretto_mpi *m)
{
    return stretto_mpi_error(m);
}
