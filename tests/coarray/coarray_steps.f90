! Steps without end, for being killed: `coarray_steps LOG STEPS [images]`. In each one, all elements of two coarrays
! become the step's number, here and on the next image; after `sync all` (or `sync images` with both neighbours) it is
! noted in LOG.image. Goes on from the last step that all images have.
module steps_of_all
  implicit none
  integer :: step[*] = -1
  integer :: mine(5000)[*], from_neighbour(5000)[*]
end module

program coarray_steps
  use steps_of_all
  implicit none
  character(len=200) :: log, text
  integer :: last, me, next, before, number, unit, first
  logical :: by_images

  call get_command_argument(1, log)
  call get_command_argument(2, text)
  read (text, *) last
  by_images = command_argument_count() > 2
  me = this_image()
  next = merge(1, me + 1, me == num_images())
  before = merge(num_images(), me - 1, me == 1)
  write (text, '(a, ".", i0)') trim(log), me
  open (newunit=unit, file=text, position="append")
  first = max(step, 0)
  ! What was restored is a step or part of the next.
  if (step >= 0) then
    if (any(mine < step - 1) .or. any(mine > step + 1)) error stop "restored values are of other steps"
  end if
  call co_min(first)
  sync all
  do number = first + 1, last
    mine = number
    from_neighbour(:)[next] = number
    step = number
    if (by_images .and. next == before) then
      sync images(next)
    else if (by_images) then
      sync images([next, before])
    else
      sync all
    end if
    write (unit, '(i0)') number
    flush (unit)
    if (by_images) sync all ! nobody's next step may come into the neighbour's note
  end do
end program
