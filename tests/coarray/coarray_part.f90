! Ends when only some images have synced a coarray: `coarray_part stop` by one image's stop, `coarray_part team` after a
! sync of a team.
program coarray_part
  use, intrinsic :: iso_fortran_env, only: team_type
  implicit none
  integer :: shared(5000)[*]
  type(team_type) :: half
  character(len=4) :: mode
  integer :: me

  call get_command_argument(1, mode)
  me = this_image()
  shared = me
  if (mode == "stop") then
    if (me == 1) stop 3
    sync all
  else
    form team (merge(1, 2, me == 1), half)
    change team (half)
      sync all
    end team
    if (me == 1) error stop 3
    sync all
  end if
end program
