! Heat on a plate, a five-point stencil in strips of columns, one for each image. The halo goes by puts to the
! neighbours. All state lies in coarrays: with PCAF_ENABLED, a run that was stopped or killed goes on from the last step
! that all images have completed. A step leaves the plate that it comes from as it was.
module plate
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  real(real64), allocatable :: heat(:, :, :)[:] ! rows, columns and two halos, now and next
  integer(int64) :: done[*] = -1 ! steps; -1: the plate isn't filled yet
contains
  ! The exact discrete solution of the plate whose edges are cold: a sine in both directions.
  pure real(real64) function wave(i, n)
    integer(int64), intent(in) :: i, n
    wave = sin(acos(-1.0_real64) * real(i, real64) / real(n + 1, real64))
  end function
end module

program sill_caf_stencil
  use plate
  use app
  implicit none
  integer(int64) :: rows, columns, steps, begun, step, i, j, first
  integer :: me, images, now, next
  real(real64) :: seconds, factor, error, expected
  logical :: right

  call app_begin("sill-caf-stencil")
  rows = app_number("rows", 1000_int64)
  columns = app_number("columns", 1000_int64) ! of each image
  steps = app_number("steps", 200_int64)
  me = this_image()
  images = num_images()
  first = (me - 1) * columns
  allocate (heat(rows, 0:columns + 1, 0:1)[*])
  begun = app_done(done)
  if (begun < 0) then
    heat = 0
    do j = 0, columns + 1
      do i = 1, rows
        heat(i, j, 0) = wave(i, rows) * wave(first + j, images * columns)
      end do
    end do
    if (me == 1) heat(:, 0, 0) = 0
    if (me == images) heat(:, columns + 1, 0) = 0
    begun = 0
  end if
  done = begun
  sync all

  seconds = app_seconds()
  do step = begun + 1, steps
    now = int(mod(step - 1, 2_int64))
    next = 1 - now
    do j = 1, columns
      heat(1, j, next) = 0.25_real64 * (heat(2, j, now) + heat(1, j - 1, now) + heat(1, j + 1, now))
      do i = 2, rows - 1
        heat(i, j, next) = 0.25_real64 * (heat(i - 1, j, now) + heat(i + 1, j, now) + heat(i, j - 1, now) &
                                          + heat(i, j + 1, now))
      end do
      heat(rows, j, next) = 0.25_real64 * (heat(rows - 1, j, now) + heat(rows, j - 1, now) + heat(rows, j + 1, now))
    end do
    if (me > 1) heat(:, columns + 1, next)[me - 1] = heat(:, 1, next)
    if (me < images) heat(:, 0, next)[me + 1] = heat(:, columns, next)
    done = step
    sync all
  end do
  seconds = app_seconds() - seconds

  factor = 0.5_real64 * (cos(acos(-1.0_real64) / real(rows + 1, real64)) &
                         + cos(acos(-1.0_real64) / real(images * columns + 1, real64)))
  error = 0
  now = int(mod(done, 2_int64))
  do j = 1, columns
    do i = 1, rows
      expected = factor**done * wave(i, rows) * wave(first + j, images * columns)
      error = max(error, abs(heat(i, j, now) - expected))
    end do
  end do
  right = error < 1e-10_real64 .and. done == max(steps, begun)
  if (steps > begun) call app_result("updates", "", real(rows, real64) * columns * images * (steps - begun) / seconds, "1/s")
  if (steps > begun) call app_result("step", "", seconds / (steps - begun), "s")
  call app_end(right)
end program
