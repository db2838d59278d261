! An ensemble member for the tests of the stream, which sends what stream-member.c does, in every way there is.
! stream-member-fortran STEPS [KIND]: KIND real32 declares the fields as they travel; KIND stop makes a mistake without
! stat=; KIND failing cannot open a stream, and reports a metric.
program member
  use, intrinsic :: iso_fortran_env, only: real32, real64
  use stretto
  implicit none
  type(stretto_stream) :: stream
  character(:), allocatable :: reason
  character(32) :: text
  integer :: steps, me, stat

  call get_command_argument(1, text)
  read (text, *) steps
  call get_environment_variable('STRETTO_MEMBER', text, status=stat)
  me = 0
  if (stat == 0) read (text, *) me
  call get_command_argument(2, text)
  if (text == 'stop') call stream%close()
  if (text == 'failing') then
    do stat = 1, 2 ! it may be tried again
      call fail_to_open()
    end do
    call stretto_metric('a loss    ', 3, 0.5_real64)
    stop
  end if
  call stream%open()
  call stream%open(stat, reason)
  call expect('open already')
  if (text == 'stop') then
    block
      type(stretto_field) :: never
      call stream%send_lent(never, 0)
    end block
  else if (text == 'real32') then
    call as_the_spec_has_it()
  else
    call all_ways()
  end if
  print '(2a)', trim(merge('active', 'idle  ', stream%active())), &
    trim(merge(', without a limit', ', with a limit   ', stream%time_left() > 1e9_real64))
  call stream%close(stat, reason)
  if (stat /= 0) error stop 'close failed'
  if (len(reason) /= 0) error stop 'a success has no reason'
  deallocate (reason) ! for the leak check
  call stream%close()

contains

  subroutine fail_to_open()
    integer :: stat

    call stream%open(stat, reason)
    if (stat == -1 .and. index(reason, 'STRETTO_STREAM_KEY') > 0) return
    print '(2a)', 'not as wanted: ', reason
    error stop 1
  end subroutine

  ! The last call failed, with these words in its reason.
  subroutine expect(words)
    character(*), intent(in) :: words

    if (stat == -1 .and. index_of(reason, words) > 0) return
    print '(4a)', 'wanted: ', words, ', got: ', reason
    error stop 1
  end subroutine

  integer function index_of(string, words)
    character(*), intent(in) :: string, words
    intrinsic :: index

    index_of = index(string, words)
  end function

  real(real64) function value(step, i, j) ! of the array (4, 3)
    integer, intent(in) :: step, i, j

    value = 100*me + step + ((j - 1)*4 + i - 1)/16.0_real64
  end function

  subroutine mistakes(temperature, particles)
    type(stretto_field), intent(in) :: temperature, particles
    type(stretto_field) :: other
    real(real64) :: grid(4, 3), turned(3, 4)
    real(real32), pointer :: lent(:, :)
    real(real64), pointer :: wide(:, :)
    real(real32) :: coarse(4, 3)

    grid = 0
    turned = 0
    coarse = 0
    call stream%send(other, 0, grid, stat, reason)
    call expect('was not declared')
    call stream%send(temperature, 0, turned, stat, reason)
    call expect('"temperature" was declared as real64(4,3), but this is real64(3,4)')
    call stream%send(temperature, 0, coarse, stat, reason)
    call expect('but this is real32(4,3)')
    call stream%lend(temperature, lent, stat, reason)
    call expect('but this is real32(4,3)')
    if (associated(lent)) error stop 'lent for nothing'
    call stream%send_lent(temperature, 0, stat, reason)
    call expect('nothing is lent for field "temperature"')
    call stream%send(particles, 0, grid, stat, reason)
    call expect('"particles" was declared as real64(3,-1), but this is real64(4,3)')
    if (.not. stream%active()) return
    call stream%declare(other, 'particles', turned, stat, reason)
    call expect('"particles" is 4x3 here, but -1x3 in the spec')
    call stream%lend(particles, wide, stat, reason)
    call expect('from 0 to 40, not -1')
    call stream%lend(particles, wide, stat, reason, extent=41)
    call expect('from 0 to 40, not 41')
    call stream%declare(other, 'temperature', turned, stat, reason)
    call expect('"temperature" is 4x3 here, but 3x4 in the spec; the spec counts extents in C order, the reverse of real64(3,4)')
    call stream%declare(other, 'pressure', grid, stat, reason)
    call expect('no field "pressure"')
    call stream%declare_as(other, 'flux', stretto_int8, [2], stat, reason)
    call expect('uint8 here, but float64 in the spec')
    call stream%send(temperature, -1, grid, stat, reason)
    call expect('negative')
    call stream%send(temperature, -1, grid, stat=stat)
    if (stat /= -1) error stop 'stat alone'
  end subroutine

  ! By turns: an array, a part of one, every other column, a pointer that goes backwards, lent memory.
  subroutine all_ways()
    type(stretto_field) :: temperature, flux, particles
    real(real64), pointer :: swarm(:, :)
    real(real64) :: u(4, 3), wide(9, 7), backwards(4, 3), f(2)
    real(real64), pointer :: lent(:, :), again(:, :)
    integer :: step, i, j

    call stream%declare(temperature, 'temperature', u, stat, reason)
    if (stat /= 0) error stop 'declare failed'
    call stream%declare_as(flux, 'flux', stretto_real64, [2])
    call stream%declare_as(particles, 'particles', stretto_real64, [3, -1])
    call mistakes(temperature, particles)
    wide = 0
    do step = 0, steps - 1
      do j = 1, 3
        do i = 1, 4
          u(i, j) = value(step, i, j)
        end do
      end do
      f = [me + 0.1_real64, step + 0.1_real64]
      select case (mod(step, 5))
      case (0)
        call stream%send(temperature, step, u)
      case (1)
        wide(3:6, 2:4) = u
        call stream%send(temperature, step, wide(3:6, 2:4))
      case (2)
        wide(1:7:2, 1:7:3) = u
        call stream%send(temperature, step, wide(1:7:2, 1:7:3))
      case (3)
        backwards = u(4:1:-1, :)
        call stream%send(temperature, step, backwards(4:1:-1, :))
      case (4)
        call stream%lend(temperature, lent)
        call stream%lend(temperature, again)
        if (.not. associated(lent, again)) error stop 'lent twice'
        lent = u
        call stream%send_lent(temperature, step)
      end select
      u = 0
      call stream%send(flux, step, f)
      if (mod(step, 2) == 0) then
        call stream%send(particles, step, particle(step))
      else
        call stream%lend(particles, swarm, extent=mod(step*7, 41))
        swarm = particle(step)
        call stream%send_lent(particles, step)
      end if
    end do
  end subroutine

  function particle(step) ! (3, n)
    integer, intent(in) :: step
    real(real64) :: particle(3, mod(step*7, 41))
    integer :: i

    do i = 1, size(particle, 2)
      particle(:, i) = me + step + [3*i - 3, 3*i - 2, 3*i - 1]/16.0_real64
    end do
  end function

  subroutine as_the_spec_has_it()
    type(stretto_field) :: temperature, flux, particles
    real(real32), pointer :: swarm(:, :)
    real(real32), pointer :: u(:, :)
    real(real64), pointer :: f(:)
    integer :: step, i, j

    call stream%declare_as(temperature, 'temperature ', stretto_real32, [4, 3])
    call stream%declare_as(flux, 'flux', stretto_real64, [2])
    call stream%declare_as(particles, 'particles', stretto_real32, [3, -1])
    do step = 0, steps - 1
      call stream%lend(particles, swarm, extent=mod(step*7, 41))
      if (any(shape(swarm) /= [3, mod(step*7, 41)])) error stop 'lent in another shape'
      swarm = real(particle(step), real32)
      call stream%send_lent(particles, step)
      call stream%lend(temperature, u)
      call stream%lend(flux, f)
      if (any(shape(u) /= [4, 3]) .or. size(f) /= 2) error stop 'lent in another shape'
      do j = 1, 3
        do i = 1, 4
          u(i, j) = real(value(step, i, j), real32)
        end do
      end do
      f = [me + 0.1_real64, step + 0.1_real64]
      call stream%send_lent(flux, step)
      call stream%send_lent(temperature, step)
    end do
  end subroutine
end program
