! Puts, gets and transfers between other images: scalars, sections with strides up and down, blocks, parts of derived
! types, characters, conversions, whole arrays into allocatable ones; checked against what assignment without coarrays
! gives.
module helpers
  implicit none
  type cell
    integer :: key
    real(8) :: value(2)
    character(len=3) :: tag
  end type
contains
  subroutine require(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (.not. condition) then
      print *, "image", this_image(), "wrong:", what
      error stop 1
    end if
  end subroutine
  pure real(8) function sample(image, i, j)
    integer, intent(in) :: image, i, j
    sample = image * 10000d0 + i * 100d0 + j
  end function
end module

program coarray_access
  use helpers
  implicit none
  integer, parameter :: n = 12
  real(8) :: a(n, n)[*], b(0:n - 1, -3:n - 4)[*], expected(n, n), line(n), four(4), block(4, 3)
  integer :: whole(n)[*], scalar[*], keys(6)
  integer :: chosen(4) = [2, 9, 4, 7]
  integer(8) :: wide(3) = [6_8, 0_8, 4_8]
  real :: narrow(n)[*]
  character(len=5) :: words(4)[*]
  type(cell) :: cells(6)[*]
  real(8), allocatable :: grown(:, :)[:], got(:, :), row(:), part(:, :)
  integer :: me, last, next, i, j

  me = this_image()
  last = num_images()
  next = merge(1, me + 1, me == last)
  ! The shapes are right beforehand: with others, OpenCoarrays itself goes wrong.
  allocate (grown(n, n)[*], got(n, n), row(n), part(4, 6))
  do j = 1, n
    do i = 1, n
      a(i, j) = sample(me, i, j)
      grown(i, j) = -sample(me, i, j)
    end do
  end do
  b = 0
  whole = me
  scalar = me
  narrow = 0
  words = "image"
  do i = 1, 6
    cells(i) = cell(100 * me + i, [real(8) :: i, -i], "abc")
  end do
  sync all

  ! Gets.
  call require(scalar[next] == next, "scalar get")
  call require(a(3, 4)[next] == sample(next, 3, 4), "element get")
  got = a(:, :)[next]
  do j = 1, n
    do i = 1, n
      expected(i, j) = sample(next, i, j)
    end do
  end do
  call require(all(got == expected), "whole get")
  part = a(2:11:3, 12:1:-2)[next]
  call require(all(part == expected(2:11:3, 12:1:-2)), "strided get")
  part = grown(9:, :6)[next]
  call require(all(part == -expected(9:, :6)), "get of an allocatable's open section")
  got = grown(:, :)[next]
  call require(all(got == -expected), "get of an allocatable")
  row = a(5, :)[next]
  call require(all(row == expected(5, :)), "row get")
  line = a(:, 7)[next]
  call require(all(line == expected(:, 7)), "column get")
  line(1:6) = a(12:2:-2, 1)[next]
  call require(all(line(1:6) == expected(12:2:-2, 1)), "reversed get")
  line = 0
  line(5:4) = a(5:4, 2)[next]
  call require(all(line == 0), "empty get")
  keys = cells(:)[next]%key ! gfortran 12 forgets the offset of components behind the first
  call require(all(keys == [(100 * next + i, i=1, 6)]), "component get")
  call require(cells(4)[next]%key == 100 * next + 4, "component scalar get")
  line = whole(:)[next]
  call require(all(line == next), "converting get")
  four = a(chosen, 3)[next] ! into what is allocatable, gfortran 12 can't compile it
  call require(all(four == expected(chosen, 3)), "get by a vector of a column")
  four = a(5, chosen)[next]
  call require(all(four == expected(5, chosen)), "get by a vector of a row")
  block = a(chosen, 1:5:2)[next]
  call require(all(block == expected(chosen, 1:5:2)), "get by a vector and a stride")
  block(:, 1:2) = a(chosen, [12, 1])[next]
  call require(all(block(:, 1:2) == expected(chosen, [12, 1])), "get by two vectors")
  four = grown(chosen, 2)[next]
  call require(all(four == -expected(chosen, 2)), "get of an allocatable by a vector")
  sync all

  ! Puts, each to memory of its own.
  b(:, -3)[next] = a(:, 1)
  b(0:10:2, -2)[next] = a(1:6, 2)
  b(10:0:-2, -1)[next] = a(1:6, 3)
  b(3, 0:n - 4)[next] = a(1, 1:n - 3)
  b(5:7, 1:5:2)[next] = a(2:6:2, 4:6)
  b(0, 0)[next] = 77d0
  b(8:9, 0:1)[next] = 55d0
  narrow(2:6)[next] = a(1:5, 1)
  whole(3:9:3)[next] = -me
  words(2:3)[next] = "put"
  cells(2:4)[next]%key = -me
  cells(6)[next]%value(1:2) = [me * 1d0, me * 2d0]
  grown(1, :)[next] = a(:, 12)
  b([11, 0, 6], 8)[next] = a(1:3, 6)
  b(1:2, wide)[next] = a(1:2, 7:9)
  b([10, 2], [7])[next] = 66d0
  sync all
  i = merge(last, me - 1, me == 1)
  call require(all(b(:, -3) == [(sample(i, j, 1), j=1, n)]), "column put")
  call require(all(b(0:10:2, -2) == [(sample(i, j, 2), j=1, 6)]), "strided put")
  call require(all(b(1:11:2, -2) == 0), "gaps of a strided put")
  call require(all(b(10:0:-2, -1) == [(sample(i, j, 3), j=1, 6)]), "reversed put")
  call require(all(b(3, 0:n - 4) == [(sample(i, 1, j), j=1, n - 3)]), "row put")
  call require(b(6, 3) == sample(i, 4, 5) .and. b(7, 5) == sample(i, 6, 6), "block put")
  call require(b(6, 2) == 0 .and. b(0, 0) == 77, "gaps of a block put, scalar put")
  call require(all(b(8:9, 0:1) == 55), "broadcast put")
  call require(all(abs(narrow(2:6) - [(sample(i, j, 1), j=1, 5)]) < 1), "converting put")
  call require(narrow(1) == 0 .and. narrow(7) == 0, "around a converting put")
  call require(all(whole(3:9:3) == -i) .and. whole(4) == me, "integer put")
  call require(words(2) == "put  " .and. words(4) == "image", "character put")
  call require(all(cells(2:4)%key == -i) .and. cells(5)%key == 100 * me + 5 .and. cells(3)%tag == "abc", "component put")
  call require(all(cells(6)%value == [i * 1d0, i * 2d0]), "component section put")
  call require(all(grown(1, :) == [(sample(i, j, 12), j=1, n)]), "put to an allocatable")
  call require(all(b([11, 0, 6], 8) == [(sample(i, j, 6), j=1, 3)]) .and. b(7, 8) == 0, "put by a vector")
  call require(b(1, 0) == sample(i, 1, 8) .and. b(2, 4) == sample(i, 2, 9) .and. b(1, 1) == 0, "put by a wide vector")
  call require(all(b([10, 2], 7) == 66) .and. b(9, 7) == 0, "broadcast put by vectors")
  sync all

  ! Between other images, and within one, where the sides may overlap.
  if (me == 1) then
    a(1:4, 2)[last] = grown(2:5, 3)[next]
    a(2:9, 5)[next] = a(1:8, 5)[next]
  end if
  sync all
  if (me == last) call require(all(a(1:4, 2) == [(-sample(merge(1, 2, last == 1), j, 3), j=2, 5)]), "transfer")
  if (me == merge(1, 2, last == 1)) &
    call require(all(a(2:9, 5) == [(sample(me, j, 5), j=1, 8)]), "overlapping transfer")
  sync all
  deallocate (grown)
  allocate (grown(3, 3)[*])
  grown = me
  sync all
  call require(all(grown(:, 2)[next] == next), "after allocating anew")
  sync all
end program
