/* A small MPI in one process for tests of stretto-mpi.h: each rank is a thread. It is as strict as a real one may be: a
 * send waits for its receive, a buffer that is on its way must not change, all ranks must make the same collective
 * calls, and sizes must agree. Where all ranks wait for each other, or one of these rules is broken, the program is
 * aborted at once with the reason. */
#ifndef TESTS_UNIT_MPI_H
#define TESTS_UNIT_MPI_H
#include <stddef.h>

typedef int MPI_Comm, MPI_Datatype, MPI_Request, MPI_Op, MPI_Fint, MPI_Status;

enum { MPI_COMM_WORLD = 1 };
enum { MPI_DATATYPE_NULL, MPI_BYTE, MPI_INT, MPI_FLOAT, MPI_DOUBLE, MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T };
enum { MPI_REQUEST_NULL, MPI_ORDER_C, MPI_MAX };

#define MPI_STATUS_IGNORE ((MPI_Status *)NULL)
#define MPI_IN_PLACE ((void *)-1)

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
MPI_Comm MPI_Comm_f2c(MPI_Fint comm);
int MPI_Abort(MPI_Comm comm, int status);
int MPI_Bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Ibcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request);
int MPI_Gather(const void *data, int n, MPI_Datatype type, void *all, int each, MPI_Datatype all_type, int root,
               MPI_Comm comm);
int MPI_Allreduce(const void *data, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Send(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Recv(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status);
int MPI_Isend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Irecv(void *data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Wait(MPI_Request *request, MPI_Status *status);
int MPI_Type_contiguous(int n, MPI_Datatype of, MPI_Datatype *out);
int MPI_Type_create_subarray(int ndim, const int *sizes, const int *part, const int *at, int order, MPI_Datatype of,
                             MPI_Datatype *out);
int MPI_Type_commit(MPI_Datatype *type);
int MPI_Type_free(MPI_Datatype *type);
int MPI_Type_size(MPI_Datatype type, int *size);

/* Runs `program` on so many ranks, and returns when all have ended. Types, communicators and requests that are left are
 * errors. */
void fake_mpi_run(int ranks, void (*program)(int rank, int ranks));

/* Aborts the program with a sentence. */
_Noreturn void fake_mpi_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
