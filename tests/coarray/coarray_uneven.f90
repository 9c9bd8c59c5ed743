! A coarray whose allocatable component only image 2 has, beside one that all have whole.
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

  if (this_image() == 2) allocate (lone%values(10))
  lone%number = this_image()
  whole = this_image()
  sync all
  if (lone[2]%number /= 2 .or. whole(7)[1] /= 1) error stop "a value was lost"
  sync all
end program
