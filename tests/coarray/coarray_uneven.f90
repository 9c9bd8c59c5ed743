! A coarray whose allocatable component only image 2 has, beside one that all have whole. `coarray_uneven early`: killed
! behind a sync; `late`: before the first one that follows on the component. `alone`: image 1 has it, and syncs with images
! that it names first.
module uneven
  implicit none
  type holder
    integer :: number = 0
    integer, allocatable :: values(:)
  end type
end module

program coarray_uneven
  use uneven
  implicit none
  type(holder) :: lone[*]
  integer :: whole(100)[*]
  character(len=5) :: mode

  call get_command_argument(1, mode)
  if (mode == "late" .or. mode == "alone") sync all
  if (this_image() == merge(1, 2, mode == "alone")) allocate (lone%values(10))
  if (this_image() == 2 .and. mode == "late") error stop "killed"
  if (mode == "alone") sync images (*)
  lone%number = this_image()
  whole = this_image()
  sync all
  if (lone[2]%number /= 2 .or. whole(7)[1] /= 1) error stop "a value was lost"
  if (mode == "early") error stop "killed"
  sync all
end program
