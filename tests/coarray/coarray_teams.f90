! What Sill leaves to OpenCoarrays goes on working beside it: teams with coarrays of their own, locks, events, critical
! sections, atomics, collectives, allocatable components. With an argument, the teams' coarrays must have been kept.
module parts
  implicit none
  type holder
    integer :: number = 0
    real, allocatable :: values(:)
  end type
end module

program coarray_teams
  use, intrinsic :: iso_fortran_env
  use parts
  implicit none
  integer :: shared(4)[*], total
  integer(atomic_int_kind) :: counter[*]
  type(lock_type) :: lock[*]
  type(event_type) :: event[*]
  type(holder) :: has_parts[*]
  type(team_type) :: half
  integer, allocatable :: of_team(:)[:]
  logical :: kept
  integer :: me, images, number

  me = this_image()
  images = num_images()
  kept = command_argument_count() > 0
  counter = 0
  shared = 0
  allocate (has_parts%values(me + 2))
  has_parts%values = me
  sync all

  lock (lock[1])
  shared(1)[1] = shared(1)[1] + me
  unlock (lock[1])
  critical
    shared(2)[1] = shared(2)[1] + 1
  end critical
  call atomic_add(counter[1], me)
  if (me < images) event post (event[me + 1])
  if (me > 1) event wait (event)
  sync all
  total = images * (images + 1) / 2
  if (me == 1 .and. (shared(1) /= total .or. shared(2) /= images)) error stop "lock or critical"
  call atomic_ref(number, counter[1])
  if (number /= total) error stop "atomics"
  number = me
  call co_sum(number)
  if (number /= total) error stop "collectives"
  if (size(has_parts[images]%values) /= images + 2) error stop "allocatable components"
  if (has_parts[images]%values(2) /= images) error stop "values of allocatable components"
  sync all

  shared(3) = me
  sync all
  form team (mod(me, 2) + 1, half)
  change team (half)
    allocate (of_team(3)[*])
    if (kept .and. any(of_team /= 100 * team_number() + this_image())) error stop "a team's coarray was not kept"
    of_team = 100 * team_number() + this_image()
    sync all
    if (of_team(2)[num_images()] /= 100 * team_number() + num_images()) error stop "a team's coarray"
    sync all
    deallocate (of_team)
  end team
  sync all
  if (shared(3)[images] /= images) error stop "after the teams"
  sync all
end program
