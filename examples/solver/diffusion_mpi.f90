! Diffusion of a hot rectangle, its rows dealt to the processes.
program diffusion_mpi
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  use stretto_mpi
  implicit none
  integer, parameter :: nx = 32, ny = 24, steps = 40
  type(stretto_mpi_stream) :: stream
  type(stretto_mpi_field) :: temperature, profile
  real(real64), allocatable :: u(:, :) ! with a rim
  real(real64) :: d, part(nx), mean(nx)
  character(32) :: argument
  integer :: rank, processes, first, rows, below, above, step, j, ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, processes, ierr)
  d = 0.1_real64
  call get_command_argument(1, argument)
  if (argument /= '') read (argument, *) d
  first = ny*rank/processes + 1
  rows = ny*(rank + 1)/processes - first + 1
  below = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  above = merge(rank + 1, MPI_PROC_NULL, rank < processes - 1)
  allocate (u(0:nx + 1, 0:rows + 1), source=0.0_real64)
  do j = 1, rows
    if (first + j - 1 >= 15 .and. first + j - 1 <= 19) u(5:10, j) = 100
  end do

  call stream%open(MPI_COMM_WORLD)
  call stream%declare(temperature, 'temperature', u, whole=[nx, ny], first=[1, first], count=[nx, rows], rim=[1, 1])
  ! the mean of the rows is on process 0; the others have no part in it
  call stream%declare(profile, 'profile', mean, whole=[nx], first=[1], count=[merge(nx, 0, rank == 0)])
  do step = 0, steps - 1
    call MPI_Sendrecv(u(:, 1), nx + 2, MPI_DOUBLE_PRECISION, below, 0, u(:, rows + 1), nx + 2, MPI_DOUBLE_PRECISION, &
                      above, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(u(:, rows), nx + 2, MPI_DOUBLE_PRECISION, above, 1, u(:, 0), nx + 2, MPI_DOUBLE_PRECISION, &
                      below, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    u(1:nx, 1:rows) = u(1:nx, 1:rows) + d*(u(0:nx - 1, 1:rows) + u(2:nx + 1, 1:rows) + u(1:nx, 0:rows - 1) + &
                                           u(1:nx, 2:rows + 1) - 4*u(1:nx, 1:rows))
    call stream%send(temperature, step, u)
    part = sum(u(1:nx, 1:rows), dim=2)/ny
    call MPI_Reduce(part, mean, nx, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    call stream%send(profile, step, mean)
  end do
  call stream%close()
  call MPI_Finalize(ierr)
end program
