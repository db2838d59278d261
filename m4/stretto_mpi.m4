# STRETTO_FIND_MPI
# Finds an MPI compiler wrapper and a launcher that belong together. A mixed pair (MPICH's wrapper, Open MPI's
# launcher) starts N worlds of one process each and exits 0, so each pair is tried with a two-process program.
# Sets MPICC, MPIEXEC (absolute) and the conditional HAVE_MPI; MPICC= and MPIEXEC= on the command line are tried first.
AC_DEFUN([STRETTO_FIND_MPI], [
AC_ARG_VAR([MPICC], [MPI C compiler wrapper])
AC_ARG_VAR([MPIEXEC], [MPI launcher that belongs to MPICC])
AC_ARG_WITH([mpi], [AS_HELP_STRING([--without-mpi], [leave out what needs MPI (examples/heat)])], [], [with_mpi=yes])
stretto_mpi_why=
AS_IF([test "$with_mpi" != no], [
  AC_MSG_CHECKING([for an MPI compiler and launcher that belong together])
  cat > conftest_mpi.c <<'EOF'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, size, sum = 0, one = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("world %d of %d\n", sum, size);
    MPI_Finalize();
    return 0;
}
EOF
  stretto_mpi_pairs="mpicc.mpich:mpiexec.mpich mpicc:mpiexec mpicc:mpiexec.hydra mpicc:mpirun"
  stretto_mpi_pairs="$stretto_mpi_pairs mpicc.openmpi:mpiexec.openmpi"
  AS_IF([test -n "$MPICC" || test -n "$MPIEXEC"], [stretto_mpi_pairs="${MPICC:-mpicc}:${MPIEXEC:-mpiexec}"])
  MPICC=; MPIEXEC=
  for stretto_pair in $stretto_mpi_pairs; do
    stretto_cc=`command -v ${stretto_pair%%:*} 2>/dev/null`
    stretto_exec=`command -v ${stretto_pair##*:} 2>/dev/null`
    AS_IF([test -z "$stretto_cc" || test -z "$stretto_exec"], [continue])
    AS_IF([$stretto_cc -o conftest_mpi conftest_mpi.c >&AS_MESSAGE_LOG_FD 2>&1 &&
           timeout 30 $stretto_exec -n 2 ./conftest_mpi 2>&AS_MESSAGE_LOG_FD </dev/null |
             grep '^world 2 of 2$' >/dev/null],
      [MPICC=$stretto_cc; MPIEXEC=$stretto_exec; break],
      [AS_ECHO(["$stretto_cc with $stretto_exec does not make a world of 2"]) >&AS_MESSAGE_LOG_FD
       stretto_mpi_why=" (no pair made a world of two processes: see config.log)"])
  done
  rm -f conftest_mpi conftest_mpi.c
  AS_IF([test -n "$MPICC"], [stretto_mpi_why=], [])
  AC_MSG_RESULT([${MPICC:-none} ${MPIEXEC}])
])
AC_DEFINE_UNQUOTED([STRETTO_MPIEXEC], ["$MPIEXEC"], [MPI launcher found by configure, or empty])
AM_CONDITIONAL([HAVE_MPI], [test -n "$MPICC"])
])
