! What a program decides itself, by the module sill_coarrays: `coarray_choice FOLDER first|again|volatile`.
module parts_of_choice
  implicit none
  type holder
    real, allocatable :: values(:)
  end type
end module

program coarray_choice
  use sill_coarrays
  use parts_of_choice
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: team_type
  implicit none
  type(holder) :: has_parts[*]
  type(team_type) :: alone
  integer, allocatable :: chosen(:)[:], left(:)[:]
  character(len=200) :: folder
  character(len=10) :: mode
  integer :: me, unrelated(3)
  integer(c_int) :: stat

  call get_command_argument(1, folder)
  call get_command_argument(2, mode)
  me = this_image()
  allocate (chosen(100)[*], left(100)[*])
  chosen = -me
  left = -me
  sync all
  if (coarrays_restored()) error stop "restored before anything is kept"
  call coarray_persist(chosen, path=trim(folder) // "/chosen", stat=stat)
  if (stat /= 0) error stop "coarray_persist"
  if (mode == "first") then
    if (coarrays_restored() .or. any(chosen /= -me)) error stop "the first run restores nothing"
    if (chosen(7)[num_images()] /= -num_images()) error stop "a value was lost on the way to the file"
  else
    if (.not. coarrays_restored() .or. any(chosen /= me)) error stop "the value was not kept"
  end if
  call coarray_persist(chosen, stat=stat)
  if (stat == 0) error stop "keeping twice"
  call coarray_persist(unrelated, stat=stat)
  if (stat == 0) error stop "keeping what is no coarray"
  allocate (has_parts%values(3))
  call coarray_persist(has_parts, stat=stat)
  if (stat == 0) error stop "keeping pointers to allocatable components"
  form team (me, alone)
  change team (alone)
    call coarray_persist(left, stat=stat)
    if (stat == 0) error stop "keeping a coarray of other images than the team's"
    call coarray_volatile(chosen, stat=stat)
    if (stat == 0) error stop "giving up a coarray of other images than the team's"
  end team
  sync all
  chosen(1:50) = me
  chosen(51:100)[merge(1, me + 1, me == num_images())] = merge(1, me + 1, me == num_images())
  sync all
  if (mode == "volatile") then
    call coarray_volatile(chosen)
    if (any(chosen /= me) .or. coarrays_restored()) error stop "coarray_volatile"
  end if
  if (any(left /= -me)) error stop "a coarray that wasn't chosen"
  sync all
end program
