! A matrix transposed over and over, in the manner of the Parallel Research Kernels: each image has a strip of columns,
! gets the others' blocks, and adds them, turned, to its own strip. All state lies in coarrays: with PCAF_ENABLED, a run
! that was stopped or killed goes on from the last round that all images have completed. A round leaves the sum that it
! adds to as it was.
module matrices
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  real(real64), allocatable :: a(:, :)[:], b(:, :, :)[:] ! b: the sum, now and next
  integer(int64) :: done[*] = -1 ! rounds; -1: the sum isn't cleared yet
end module

program sill_caf_transpose
  use matrices
  use app
  implicit none
  integer(int64) :: order, rounds, begun, round, width, i, j, row
  integer :: me, images, partner, phase, now, next
  real(real64), allocatable :: block(:, :)
  real(real64) :: seconds, expected, error
  logical :: right

  call app_begin("sill-caf-transpose")
  order = app_number("order", 1024_int64)
  rounds = app_number("rounds", 20_int64)
  me = this_image()
  images = num_images()
  width = order / images
  order = width * images
  allocate (a(order, width)[*], b(order, width, 0:1)[*], block(width, width))
  begun = app_done(done)
  if (begun < 0) then
    b = 0
    begun = 0
  end if
  do j = 1, width
    do i = 1, order
      a(i, j) = element(i, (me - 1) * width + j) + real(begun, real64)
    end do
  end do
  done = begun
  sync all

  seconds = app_seconds()
  do round = begun + 1, rounds
    now = int(mod(round - 1, 2_int64))
    next = 1 - now
    do phase = 0, images - 1
      partner = mod(me - 1 + phase, images) + 1
      row = (me - 1) * width
      block(:, :) = a(row + 1:row + width, :)[partner]
      row = (partner - 1) * width
      do j = 1, width
        do i = 1, width
          b(row + i, j, next) = b(row + i, j, now) + block(j, i)
        end do
      end do
    end do
    sync all ! nobody reads a any more
    a = a + 1
    done = round
    sync all
  end do
  seconds = app_seconds() - seconds

  error = 0
  now = int(mod(done, 2_int64))
  do j = 1, width
    do i = 1, order
      expected = done * element((me - 1) * width + j, i) + real(done * (done - 1) / 2, real64)
      error = max(error, abs(b(i, j, now) - expected))
    end do
  end do
  right = error < 1e-6_real64 .and. done == max(rounds, begun)
  ! As the kernels count: read once and written once.
  if (rounds > begun) &
    call app_result("bandwidth", "", 16 * real(order, real64)**2 * (rounds - begun) / seconds, "B/s")
  call app_end(right)

contains
  pure real(real64) function element(i, j)
    integer(int64), intent(in) :: i, j
    element = real(order * (j - 1) + i - 1, real64)
  end function
end program
