! Latency and bandwidth of coarray accesses from image 1 to the last image, and of synchronization.
program bench_coarrays
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use app
  implicit none
  integer, parameter :: n = 512, block = 256, stride = 2
  real(real64) :: scalar[*], vector(n * stride)[*], matrix(n, n)[*], line(n), square(block, block)
  real(real64), allocatable :: large(:)[:], buffer(:)
  integer(int64) :: elements, repetitions
  integer :: far, i, round, count
  real(real64) :: begin, x
  logical :: right

  call app_begin("bench-coarrays")
  elements = app_number("bytes", 4194304_int64) / 8
  repetitions = app_number("repetitions", 20000_int64)
  allocate (large(elements)[*], buffer(elements))
  far = num_images()
  scalar = 0
  vector = 0
  matrix = this_image()
  large = this_image()
  buffer = 1
  line = 2
  right = .true.
  sync all
  if (this_image() == 1) then
    do round = 1, 2 ! the first warms up
      call start(int(repetitions))
      do i = 1, count
        scalar[far] = real(i, real64)
      end do
      call stop_it("put", "latency", 0_int64)
      call start(int(repetitions))
      do i = 1, count
        x = scalar[far]
      end do
      right = right .and. x == real(count, real64)
      call stop_it("get", "latency", 0_int64)
      call start(int(max(repetitions / 400, 2_int64)))
      do i = 1, count
        vector(1:n * stride:stride)[far] = line
      end do
      call stop_it("strided_put", "latency", 0_int64)
      do i = 1, count
        line = vector(1:n * stride:stride)[far]
      end do
      right = right .and. all(line == 2)
      call stop_it("strided_get", "latency", 0_int64)
      call start(int(max(repetitions / 10000, 2_int64)))
      do i = 1, count
        square(:, :) = matrix(1:block, 1:block)[far]
      end do
      right = right .and. all(square == far)
      call stop_it("block_get", "latency", 0_int64)
      call start(int(max(repetitions / 1000, 2_int64)))
      do i = 1, count
        large(:)[far] = buffer
      end do
      call stop_it("large_put", "bandwidth", 8 * elements)
      do i = 1, count
        buffer(:) = large(:)[far]
      end do
      right = right .and. all(buffer == 1)
      call stop_it("large_get", "bandwidth", 8 * elements)
    end do
  end if
  sync all
  do round = 1, 2
    call start(int(max(repetitions / 10, 2_int64)))
    do i = 1, count
      sync all
    end do
    call stop_it("sync_all", "latency", 0_int64)
    do i = 1, count
      if (this_image() == 1) then
        sync images(far)
      else if (this_image() == far) then
        sync images(1)
      end if
    end do
    call stop_it("sync_images", "latency", 0_int64)
  end do
  call app_end(right)

contains
  subroutine start(times)
    integer, intent(in) :: times
    count = times
    begin = app_seconds()
  end subroutine

  subroutine stop_it(op, name, bytes)
    character(len=*), intent(in) :: op, name
    integer(int64), intent(in) :: bytes
    real(real64) :: seconds
    seconds = (app_seconds() - begin) / count
    if (round == 2 .and. bytes == 0) call app_result(name, "op=" // op, seconds * 1e6_real64, "us")
    if (round == 2 .and. bytes > 0) call app_result(name, "op=" // op, bytes / seconds, "B/s")
    begin = app_seconds()
  end subroutine
end program
