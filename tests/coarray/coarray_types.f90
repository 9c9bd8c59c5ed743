! Coarrays of every intrinsic type, of derived types and of all ranks, static and allocatable, in a module, a program and
! procedures. The first run fills them, the next ones find them as they were: `coarray_types fill` and then
! `coarray_types check`.
module coarrays_of_all_types
  use, intrinsic :: iso_fortran_env
  implicit none
  type pair
    integer :: number = 5
    real(real64) :: values(3) = 0
  end type
  integer(int8) :: i1[*] = 1_int8
  integer(int16) :: i2(3)[*] = 2_int16
  integer(int32) :: i4(2, 3)[*] = 4
  integer(int64) :: i8(2, 2, 2)[*]
  real(real32) :: r4(2, 2, 2, 2)[*]
  real(real64) :: r8(2, 1, 2, 1, 2)[*]
  complex(real32) :: c4(1, 2, 1, 2, 1, 2)[*]
  complex(real64) :: c8(1, 1, 2, 1, 1, 1, 2)[*]
  logical :: l4(5)[*] = .true.
  character(len=7) :: text(3)[*] = "initial"
  type(pair) :: derived(2)[*]
  real(real64), allocatable :: a1(:)[:], a3(:, :, :)[:]
  type(pair), allocatable :: scalar[:]
contains
  subroutine saved_in_procedure(filling, right)
    logical, intent(in) :: filling
    logical, intent(inout) :: right
    integer, save :: own(4)[*] = 9
    if (.not. filling) right = right .and. all(own == 30 + this_image())
    own = 30 + this_image()
  end subroutine
  subroutine saved_by_the_same_name(filling, right)
    logical, intent(in) :: filling
    logical, intent(inout) :: right
    integer, save :: own(4)[*] = 9
    if (.not. filling) right = right .and. all(own == 80 + this_image())
    own = 80 + this_image()
  end subroutine
end module

program coarray_types
  use coarrays_of_all_types
  implicit none
  integer :: of_program(6)[*] = 3
  character(len=5) :: mode, restored
  logical :: filling, right
  integer :: me, status

  call get_command_argument(1, mode)
  filling = mode == "fill"
  me = this_image()
  right = .true.
  allocate (a1(1000)[*], a3(3, 4, 5)[*], scalar[*])
  call get_environment_variable("PCAF_RESTORED", restored, status=status)
  if (filling) then
    ! Initialisers have run, as without Sill.
    right = i1 == 1 .and. all(i2 == 2) .and. all(i4 == 4) .and. all(l4) .and. all(text == "initial") &
            .and. all(derived%number == 5) .and. all(of_program == 3) .and. .not. (status == 0 .and. restored == "true")
  else
    right = status == 0 .and. restored == "true"
    right = right .and. i1 == me .and. all(i2 == 20 + me) .and. all(i4 == 40 + me) .and. all(i8 == 80_int64 + me)
    right = right .and. all(abs(r4 - 4.5 - me) < 1e-6) .and. all(abs(r8 - 8.5d0 - me) < 1d-12)
    right = right .and. all(abs(c4 - (1.0, 2.0) * me) < 1e-6) .and. all(abs(c8 - (3d0, 4d0) * me) < 1d-12)
    right = right .and. .not. any(l4) .and. all(text == "kept " // achar(48 + me)) .and. all(derived%number == 50 + me)
    right = right .and. all(abs(derived(2)%values - me) < 1d-12) .and. all(of_program == 60 + me)
    right = right .and. all(abs(a1 - 1.5d0 * me) < 1d-12) .and. all(abs(a3 - 2.5d0 * me) < 1d-12)
    right = right .and. scalar%number == 70 + me
  end if
  call saved_in_procedure(filling, right)
  call saved_by_the_same_name(filling, right)
  sync all
  i1 = int(me, int8)
  i2 = int(20 + me, int16)
  i4 = 40 + me
  i8 = 80 + me
  r4 = 4.5 + me
  r8 = 8.5d0 + me
  c4 = (1.0, 2.0) * me
  c8 = (3d0, 4d0) * me
  l4 = .false.
  text = "kept " // achar(48 + me)
  derived%number = 50 + me
  derived(2)%values = me
  of_program = 60 + me
  a1 = 1.5d0 * me
  a3 = 2.5d0 * me
  scalar%number = 70 + me
  sync all
  if (.not. right) error stop "wrong values"
end program
