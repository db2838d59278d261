! held-member-fortran STEPS AT BYTES: what held-member does with a checkpoint that it reports; its field is of type real32.
program held_member
  use, intrinsic :: iso_fortran_env, only: real32
  use stretto
  implicit none
  type(stretto_stream) :: stream
  type(stretto_field) :: field
  real(real32), allocatable :: values(:)
  character(4096) :: resume, dir, attempt
  integer :: steps, at, bytes, first, step, unit

  steps = argument(1)
  at = argument(2)
  bytes = argument(3)
  call get_environment_variable('STRETTO_CHECKPOINT_DIR', dir)
  call get_environment_variable('STRETTO_RESUME', resume)
  call get_environment_variable('STRETTO_ATTEMPT', attempt)
  first = 0
  if (resume /= '') then
    open (newunit=unit, file=trim(resume), status='old', action='read')
    read (unit, *) first
    close (unit)
  end if
  allocate (values(bytes / 4), source=0.0_real32)
  call stream%open()
  call stream%declare(field, 'data', values)
  do step = first, steps - 1
    if (attempt == '1' .and. step == at) then
      call leave(trim(dir)//'/step')
      call leave('left')
      call execute_command_line('{ sleep 1; kill -KILL $PPID; } &')
      call stream%checkpointed(trim(dir)//'/step', step - 1)
      do
        call execute_command_line('sleep 0.1')
      end do
    end if
    call stream%send(field, step, values)
    call leave('sent')
  end do
  call stream%close()

contains

  integer function argument(number)
    integer, intent(in) :: number
    character(32) :: text

    call get_command_argument(number, text)
    read (text, *) argument
  end function

  subroutine leave(name)
    character(*), intent(in) :: name
    integer :: unit

    open (newunit=unit, file=name, status='replace', action='write')
    write (unit, '(i0)') step
    close (unit)
  end subroutine
end program
