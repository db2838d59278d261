! Diffusion of a hot rectangle. What fails ends the program with the reason: no stat= is given anywhere.
program diffusion
  use, intrinsic :: iso_fortran_env, only: real32, real64
  use stretto
  implicit none
  integer, parameter :: nx = 32, ny = 24, steps = 40
  type(stretto_stream) :: stream
  type(stretto_field) :: temperature, profile
  real(real64) :: u(0:nx + 1, 0:ny + 1), d ! with a rim that stays 0
  real(real32), pointer :: mean(:)
  character(32) :: argument
  integer :: step

  d = 0.1_real64
  call get_command_argument(1, argument)
  if (argument /= '') read (argument, *) d
  u = 0
  u(5:10, 15:19) = 100

  call stream%open()
  ! real64 here, float32 in the spec: narrowed on the way
  call stream%declare(temperature, 'temperature', u(1:nx, 1:ny))
  call stream%declare_as(profile, 'profile', stretto_real32, [nx])
  do step = 0, steps - 1
    u(1:nx, 1:ny) = u(1:nx, 1:ny) + d*(u(0:nx - 1, 1:ny) + u(2:nx + 1, 1:ny) + u(1:nx, 0:ny - 1) + &
                                       u(1:nx, 2:ny + 1) - 4*u(1:nx, 1:ny))
    call stream%send(temperature, step, u(1:nx, 1:ny))

    ! float32 in the spec, too: computed where it is sent from, and never copied
    call stream%lend(profile, mean)
    mean = real(sum(u(1:nx, 1:ny), dim=2)/ny, real32)
    call stream%send_lent(profile, step)
  end do
  call stream%close()
end program
