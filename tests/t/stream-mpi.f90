! What stream-mpi.c does, in Fortran: rows dealt to up to three processes, in arrays with a rim, the last process having
! the field "flux", and particles dealt to all. stream-mpi-fortran STEPS [outside]
program member
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  use stretto_mpi
  implicit none
  type(stretto_mpi_stream) :: stream
  type(stretto_mpi_field) :: temperature, flux, particles
  real(real64) :: u(-1:6, 0:4), own(2), p(3, 41)
  character(:), allocatable :: reason
  character(32) :: text
  integer :: rank, processes, steps, me, stat, first, rows, step, i, j, ierr, n, before, all

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, processes, ierr)
  call get_command_argument(1, text)
  read (text, *) steps
  call get_environment_variable('STRETTO_MEMBER', text, status=stat)
  me = 0
  if (stat == 0) read (text, *) me
  first = min(rank + 1, 3)
  rows = merge(1, 0, rank < 3)
  if (rank == processes - 1 .and. rank < 3) rows = 3 - rank
  call stream%open(MPI_COMM_WORLD)
  call get_command_argument(2, text)
  if (text == 'outside') then
    call stream%declare(temperature, 'temperature', u, [4, 3], [1, first + 1], [4, rows], [2, 1], stat, reason)
    print '(a,i0,2a)', 'process ', rank, ': ', reason
    call stream%abort()
    call MPI_Finalize(ierr)
    if (stat /= 0) stop 4
    stop 0
  end if
  call stream%declare(temperature, 'temperature', u, whole=[4, 3], first=[1, first], count=[4, rows], rim=[2, 1])
  call stream%declare(flux, 'flux', own, whole=[2], first=[1], count=[merge(2, 0, rank == processes - 1)])
  call stream%declare(particles, 'particles', p, whole=[3, -1])
  do step = 0, steps - 1
    u = -1
    do j = 1, rows
      do i = 1, 4
        u(i, j) = 100*me + step + ((first + j - 2)*4 + i - 1)/16.0_real64
      end do
    end do
    own = [me + 0.1_real64, step + 0.1_real64]
    call stream%send(temperature, step, u, stat, reason)
    if (stat /= 0) error stop 'send failed'
    u = -2
    call stream%send(flux, step, own)
    all = mod(step*7, 41)
    before = rank*(all/processes)
    n = merge(all - before, all/processes, rank == processes - 1)
    do i = 0, 3*n - 1
      p(1 + mod(i, 3), 1 + i/3) = me + step + (3*before + i)/16.0_real64
    end do
    if (mod(step, 2) == 0) then
      call stream%send(particles, step, p, entries=n)
    else
      call stream%send(particles, step, p(:, 1:n))
    end if
  end do
  if (stream%time_left() > 1d6) error stop 'there is a limit'
  if (rank == 0) print '(a)', trim(merge('active', 'idle  ', stream%active()))
  call stream%close()
  call MPI_Finalize(ierr)
end program
