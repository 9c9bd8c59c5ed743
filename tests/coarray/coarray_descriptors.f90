! 16 coarrays at once: an image keeps one descriptor for each at most, its own file's, and none of its neighbours'.
program coarray_descriptors
  implicit none
  integer, parameter :: many = 16, spare = 16
  integer, allocatable, codimension[:] :: first, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p
  integer :: before, opened, next

  next = merge(1, this_image() + 1, this_image() == num_images())
  allocate (first[*]) ! what the MPI library opens once, it has with the first one
  before = count_open()
  allocate (a[*], b[*], c[*], d[*], e[*], f[*], g[*], h[*], i[*], j[*], k[*], l[*], m[*], n[*], o[*], p[*])
  first[next] = 1
  a[next] = 2
  p[next] = 3
  sync all
  opened = count_open() - before
  if (opened > many + spare) then
    print '(2(i0, a))', opened, ' descriptors for ', many, ' coarrays'
    error stop 'too many descriptors'
  end if
  if (first /= 1 .or. a /= 2 .or. p /= 3) error stop 'a value was lost'
contains
  integer function count_open()
    character(len=30) :: name
    logical :: is_open
    integer :: descriptor
    count_open = 0
    do descriptor = 0, 1023
      write (name, '("/proc/self/fd/", i0)') descriptor
      inquire (file=trim(name), exist=is_open)
      if (is_open) count_open = count_open + 1
    end do
  end function
end program
