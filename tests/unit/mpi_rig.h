/* The tests of stretto-mpi.h share this, in a small MPI whose ranks are threads (tests/unit/mpi): the header compiled
 * with memory that may be short, rank 0's stream as libstretto promises it, and calls either by C or as the Fortran
 * module makes them. */
#ifndef TESTS_MPI_RIG_H
#define TESTS_MPI_RIG_H
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Memory as the header gets it: of rank `short_rank`, the call after `left` others fails. */
extern int short_rank;
extern _Thread_local int left;
void *few_malloc(size_t size);
void *few_realloc(void *old, size_t size);

#define malloc few_malloc
#define realloc few_realloc
#include <stretto-mpi.h>
#undef malloc
#undef realloc

/* Says what does not hold, and where. */
#define WANT(condition)                                                                                                \
    do                                                                                                                 \
        if (!(condition))                                                                                              \
            fake_mpi_fail("%s, line %d: %s is false", place, __LINE__, #condition);                                    \
    while (0)

extern char place[160];

#define SPEC_MAX 64

/* The fields that the spec has: field i is called i. */
extern struct spec_field {
    enum stretto_dtype dtype;
    int ndim;
    int64_t shape[STRETTO_NDIM_MAX];
} spec[SPEC_MAX];

extern struct rank0_stream {
    bool idle, no_open, no_finish, finished;
    int send_fails, lend_fails; /* counted down: the call at which it is 1 fails */
    void (*sent)(int field, int64_t step, int64_t extent, const void *data);
} stream;

void nothing_is_sent(int field, int64_t step, int64_t extent, const void *data);

/* Makes everything as it was at the start: memory, a stream that works, and one field of two dimensions. */
int begin(void **state);

size_t size_of(int dtype);

extern bool by_fortran; /* the calls below go through the functions that the Fortran module calls */

int open_stream(struct stretto_mpi **out, int rank);
int declare(struct stretto_mpi *m, const char *name, int dtype, const struct stretto_block *b);

/* The other functions that the module calls (tasks/member/fortran/stretto_mpi_shim.c) */
int stretto_mpi_f_active(const struct stretto_mpi *m);
int stretto_mpi_f_send(struct stretto_mpi *m, int field, int64_t step, const void *local);
int stretto_mpi_f_send_extent(struct stretto_mpi *m, int field, int64_t step, int count, const void *local);
double stretto_mpi_f_time_left(struct stretto_mpi *m);
int stretto_mpi_f_finish(struct stretto_mpi *m);
void stretto_mpi_f_abort(struct stretto_mpi *m);
const char *stretto_mpi_f_error(const struct stretto_mpi *m);
#endif
