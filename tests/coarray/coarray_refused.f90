! A coarray whose bytes the device refuses: `coarray_refused all|images|end`. The first two learn of it by stat=, the last
! has none.
program coarray_refused
  implicit none
  real(8), allocatable :: large(:)[:]
  character(len=10) :: mode
  character(len=120) :: message
  integer :: stat, me

  call get_command_argument(1, mode)
  me = this_image()
  allocate (large(1000)[*])
  large = me
  message = "as it was"
  stat = -1
  select case (mode)
  case ("all")
    sync all (stat=stat, errmsg=message)
  case ("images")
    if (me == 1) sync images (*, stat=stat, errmsg=message)
    if (me > 1) sync images (1, stat=stat, errmsg=message)
  case default
    sync all
  end select
  print '(a, i0, a)', "stat ", stat, "."
  if (message /= "as it was") error stop "errmsg"
end program
