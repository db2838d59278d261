! checkpoint-member-fortran STEPS SECONDS: counts to STEPS, SECONDS a step, and leaves its count as a checkpoint by way of the
! library when there is no time for two steps more.
program checkpoint_member
  use stretto
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  type(stretto_stream) :: stream
  character(4096) :: resume, dir, path, argument
  character(:), allocatable :: reason
  integer :: steps, at, unit, stat
  real(real64) :: seconds

  call get_command_argument(1, argument)
  read (argument, *) steps
  call get_command_argument(2, argument)
  read (argument, *) seconds
  call get_environment_variable('STRETTO_CHECKPOINT_DIR', dir)
  call get_environment_variable('STRETTO_RESUME', resume)
  at = 0
  if (resume /= '') then
    open (newunit=unit, file=trim(resume), status='old', action='read')
    read (unit, *) at
    close (unit)
  end if
  call stream%open()
  do while (at < steps)
    if (at > 0 .and. stream%checkpoint_due(2 * seconds)) then
      write (path, '(2a, i0)') trim(dir), '/count-', at
      call write_count(trim(path))
      call stream%checkpointed('/nowhere/at/all', at, stat, reason)
      if (stat == 0) error stop 6
      call stream%checkpointed(path, at)
      call stream%abort()
      stop
    end if
    call wait(seconds)
    at = at + 1
  end do
  call write_count('result')
  if (dir == '') call stream%checkpointed('result', at)
  call stream%close()

contains

  subroutine write_count(name)
    character(*), intent(in) :: name
    integer :: unit

    open (newunit=unit, file=name, status='replace', action='write')
    write (unit, '(i0)') at
    close (unit)
  end subroutine

  subroutine wait(length)
    real(real64), intent(in) :: length
    character(64) :: command

    write (command, '(a, f0.3)') 'sleep 0', length
    call execute_command_line(trim(command))
  end subroutine
end program
