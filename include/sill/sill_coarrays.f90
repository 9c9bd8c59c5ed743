! What a program with kept coarrays knows and decides about them. Compile this file with the program, and link with
! libsill-caf. All procedures but the first are collective over the images of the current team.
module sill_coarrays
  use, intrinsic :: iso_c_binding, only: c_bool, c_char, c_int
  implicit none
  private
  public :: coarrays_restored, coarray_persist, coarray_volatile

  interface
    ! Whether there are kept coarrays, and all that were allocated so far came back as an earlier run left them.
    function coarrays_restored() bind(c, name="sill_coarrays_restored") result(restored)
      import :: c_bool
      logical(c_bool) :: restored
    end function

    ! Keeps an allocated coarray that isn't kept yet: in files `path` with ".1", ".2", ... for each image, else where the
    ! PCAF_ variables say. If they hold it from an earlier run, it gets that value. Without `stat`, an error ends the
    ! program.
    subroutine coarray_persist(a, path, stat) bind(c, name="sill_coarray_persist")
      import :: c_char, c_int
      type(*), dimension(..), target, intent(inout) :: a
      character(kind=c_char, len=*), intent(in), optional :: path
      integer(c_int), intent(out), optional :: stat
    end subroutine

    ! Keeps a coarray no longer: its files are deleted, its value stays in memory.
    subroutine coarray_volatile(a, stat) bind(c, name="sill_coarray_volatile")
      import :: c_int
      type(*), dimension(..), target, intent(inout) :: a
      integer(c_int), intent(out), optional :: stat
    end subroutine
  end interface
end module
