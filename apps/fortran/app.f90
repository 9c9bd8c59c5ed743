! What the coarray apps share: options, results for a person and as JSON, as apps/common/app.h has them for C.
module app
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  public :: app_begin, app_number, app_result, app_end, app_seconds, app_done

  type result_line
    character(len=32) :: name
    character(len=64) :: labels ! "key=value", one or none
    real(real64) :: value
    character(len=8) :: unit
  end type
  type(result_line) :: results(100)
  integer :: result_count = 0
  character(len=64) :: app_name
  character(len=32) :: known(20) ! names of the options that the app has asked for
  integer :: known_count = 0

contains

  ! To be called first. `name` of the app, for messages.
  subroutine app_begin(name)
    character(len=*), intent(in) :: name
    app_name = name
  end subroutine

  ! The value of `--name VALUE`, a whole number with k, m or g behind it, or the default.
  integer(int64) function app_number(name, default) result(number)
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: default
    character(len=:), allocatable :: text
    integer :: status, last
    integer(int64) :: factor
    number = default
    known_count = known_count + 1
    known(known_count) = name
    text = option(name)
    if (len(text) == 0) return
    last = len(text)
    factor = 1
    if (text(last:last) == "k") factor = 2_int64**10
    if (text(last:last) == "m") factor = 2_int64**20
    if (text(last:last) == "g") factor = 2_int64**30
    if (factor > 1) last = last - 1
    status = verify(text(:last), "0123456789")
    if (status == 0 .and. last > 0) read (text(:last), *, iostat=status) number
    if (status /= 0 .or. last == 0) call fail("--" // name // " " // text // ": expected a whole number")
    number = number * factor
  end function

  ! The text behind `--name`, "" without it.
  function option(name) result(text)
    character(len=*), intent(in) :: name
    character(len=:), allocatable :: text
    character(len=1000) :: word
    integer :: i
    text = ""
    do i = 1, command_argument_count() - 1
      call get_command_argument(i, word)
      if (word /= "--" // name) cycle
      call get_command_argument(i + 1, word)
      text = trim(word)
    end do
  end function

  subroutine fail(why)
    character(len=*), intent(in) :: why
    if (this_image() == 1) print '(3a)', trim(app_name), ": ", why
    sync all
    error stop 2
  end subroutine

  ! Every option must be one that the app has asked for. --store is what Sill's own tools pass to every app.
  subroutine check_options()
    character(len=1000) :: word
    integer :: i
    do i = 1, command_argument_count(), 2
      call get_command_argument(i, word)
      if (word == "--json" .or. word == "--store") cycle
      if (word(:2) /= "--" .or. .not. any(known(:known_count) == word(3:))) call fail("no option " // trim(word))
    end do
  end subroutine

  real(real64) function app_seconds() result(seconds)
    integer(int64) :: count, rate
    call system_clock(count, rate)
    seconds = real(count, real64) / real(rate, real64)
  end function

  ! The last step that all images have completed, `noted` being this image's own, or -1 if the coarrays didn't come back
  ! or were never filled. After a kill the images' notes differ, by one at most: a step ends with a `sync all`. What a
  ! step changes must be neither the note nor what the step comes from, until its end. For all images to call.
  integer(int64) function app_done(noted) result(done)
    integer(int64), intent(in) :: noted
    character(len=5) :: text
    integer :: status
    call get_environment_variable("PCAF_RESTORED", text, status=status)
    done = merge(noted, -1_int64, status == 0 .and. text == "true")
    call co_min(done)
  end function

  subroutine app_result(name, labels, value, unit)
    character(len=*), intent(in) :: name, labels, unit
    real(real64), intent(in) :: value
    result_count = result_count + 1
    results(result_count) = result_line(name, labels, value, unit)
  end subroutine

  ! Prints the results of image 1, writes them to the file behind --json, and ends the program with an error if the data
  ! of any image were wrong.
  subroutine app_end(right)
    logical, intent(in) :: right
    integer :: wrong, i, unit
    call check_options()
    wrong = merge(0, 1, right)
    call co_sum(wrong)
    if (this_image() == 1) then
      do i = 1, result_count
        print '(2x, a24, a24, es12.4, 1x, a)', results(i)%name, results(i)%labels, results(i)%value, results(i)%unit
      end do
      print '(2x, 2a)', "data: ", merge("checked, right", "WRONG         ", wrong == 0)
      if (len(option("json")) > 0) then
        open (newunit=unit, file=option("json"), status="replace", action="write")
        call write_json(unit, wrong == 0)
        close (unit)
      end if
    end if
    sync all
    if (wrong > 0) error stop 1
  end subroutine

  subroutine write_json(unit, right)
    integer, intent(in) :: unit
    logical, intent(in) :: right
    integer :: i, equals
    character(len=:), allocatable :: labels, separator
    write (unit, '(3a, i0, 3a)') '{"app": "', trim(app_name), '", "ranks": ', num_images(), ', "verified": ', &
      trim(merge("true ", "false", right)), ', "results": ['
    do i = 1, result_count
      equals = index(results(i)%labels, "=")
      labels = "{}"
      if (equals > 0) labels = '{"' // results(i)%labels(:equals - 1) // '": "' // &
                               trim(results(i)%labels(equals + 1:)) // '"}'
      separator = merge(",", " ", i < result_count)
      write (unit, '(5a, es22.14, 4a)') '{"name": "', trim(results(i)%name), '", "labels": ', labels, ', "value": ', &
        results(i)%value, ', "unit": "', trim(results(i)%unit), '"}', separator
    end do
    write (unit, '(a)') "]}"
  end subroutine
end module
